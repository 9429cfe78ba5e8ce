import { randomUUID } from 'node:crypto';
import { poll } from '../../src/process/poll';
import { expected } from '../parties/client';
import type { BankParty } from './cast';
import type { WrittenFile } from './oracle/bank-file';
import { readCsv } from './oracle/csv';
import type { SeenBankFile } from './oracle/seen';

/** Half a million lines and more. */
const MATCHED_WITHIN_MS = 600_000;

export async function sendFile(
  { network }: BankParty,
  { text, through }: Pick<WrittenFile, 'text' | 'through'>,
  signal: AbortSignal,
): Promise<SeenBankFile> {
  const query = through === undefined ? '' : `?through=${through}`;
  const sent = await network.upload(`/v1/bank/statements${query}`, text, 'text/csv', randomUUID());
  const path = `/v1/bank/statements/${String(expected(202, sent)['statementId'])}`;
  const ended = await poll('The statement of a bank', MATCHED_WITHIN_MS, signal, async () => {
    const data = expected(200, await network.get(path));
    if (data['status'] === 'processing') throw new Error('it is being matched');
    return data;
  });
  return {
    status: String(ended['status']),
    summary: ended['summary'] as Record<string, unknown>,
    differences: readCsv((await network.get(`${path}/differences.csv`)).text),
  };
}
