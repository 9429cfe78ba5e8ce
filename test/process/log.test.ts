import { Failure } from '../../src/domain/failures';
import { createLogger, describeError } from '../../src/process/log';
import { databaseOfFile } from '../support/database';

const test = databaseOfFile();

describe('an error in the log', () => {
  it('of Postgres names what was hit, and never the values', async () => {
    const insert = () =>
      test.db.row`
      INSERT INTO entities (id, type, name) VALUES (${'bnk_1'}, 'bank', ${'Secret Bank'})`;
    await insert();
    const error: unknown = await insert().catch((thrown: unknown) => thrown);
    const described = describeError(error);
    expect(described).toMatchObject({ code: '23505', table: 'entities', constraint: 'entities_pkey' });
    expect(JSON.stringify(described)).not.toMatch(/bnk_1|Secret/);
    const cast: unknown = await test.db.row`SELECT CAST(${'Secret Bank'} AS int)`.catch(
      (thrown: unknown) => thrown,
    );
    expect(JSON.stringify(describeError(cast))).not.toContain('Secret');
  });

  it('of ours shows its message, code, place and cause, and no other property', () => {
    const error = new Failure('already_linked', 'no', {
      data: { email: 'secret' },
      cause: new TypeError('inner'),
    });
    expect(describeError(error)).toEqual({
      type: 'Failure',
      message: 'no',
      code: 'already_linked',
      stack: expect.stringMatching(/^ {4}at /) as string,
      cause: expect.objectContaining({ type: 'TypeError', message: 'inner' }) as object,
    });
  });

  it('may be anything that was thrown', () => {
    expect(describeError('secret')).toEqual({ type: 'string' });
  });
});

it('drops what a full disk does not take, and keeps the process', () => {
  const log = createLogger(
    { LOG_LEVEL: 'info', LOG_FILE: '/dev/full', OTEL_EXPORTER_OTLP_ENDPOINT: undefined },
    'worker',
  );
  for (let line = 0; line < 3; line++) expect(() => log.info('a line')).not.toThrow();
});
