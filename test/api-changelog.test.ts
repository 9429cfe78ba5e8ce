import { apiChangelog, type ApiChange } from '../scripts/api-changelog';

const change = (path: string, text: string, level = 1): ApiChange => ({
  id: 'x',
  text,
  level,
  section: 'paths',
  operation: 'GET',
  path,
});
const KEPT = '# Changes\n\nWords.\n\n## Since 0.3.0\n\n- Old lines.\n\n## 0.3.0\n\n- Kept.\n';

test('the changelog has the changes since the release, and keeps what earlier ones brought', () => {
  const made = apiChangelog(KEPT, '0.3.0', [
    change('/v1/refunds', 'added `a`'),
    change('/webhook refund.response', 'added `b`', 2),
  ]);
  expect(made).toBe(
    '# Changes\n\nWords.\n\n## Since 0.3.0\n\n- `GET /v1/refunds`: added `a`\n' +
      '- `refund.response`: **Look here:** added `b`\n\n## 0.3.0\n\n- Kept.\n',
  );
  expect(apiChangelog(made, '0.3.0', [change('/v1/x', 'added `c`')], '0.4.0')).toContain(
    'Words.\n\n## Since 0.4.0\n\nNothing.\n\n## 0.4.0\n\n- `GET /v1/x`: added `c`\n\n## 0.3.0\n\n- Kept.',
  );
  expect(apiChangelog(made, '0.3.0', [])).toContain('## Since 0.3.0\n\nNothing.\n\n## 0.3.0\n\n- Kept.');
});

test('what many operations share is told once, but for what they are', () => {
  const many = ['a', 'b', 'c', 'd'].map((name) => change(`/v1/${name}`, 'added `e`'));
  expect(apiChangelog(KEPT, '0.3.0', many)).toContain('\n\n- 4 operations (`GET /v1/a` …): added `e`\n\n');
  const added = many.map((one) => ({ ...one, id: 'endpoint-added', text: 'endpoint added' }));
  expect(apiChangelog(KEPT, '0.3.0', added)).toContain(
    '- `GET /v1/c`: endpoint added\n- `GET /v1/d`: endpoint',
  );
});

const told = (name: string) =>
  `added the required property \`data/${name}\` to the response with the \`200\` status`;

test('fields that a response has come to have stand in one line', () => {
  const made = apiChangelog(KEPT, '0.3.0', [change('/v1/a', told('b')), change('/v1/a', told('c'))]);
  expect(made).toContain('\n- `GET /v1/a`: new `data/b`; new `data/c`\n');
});
