import { randomUUID } from 'node:crypto';
import { poll } from '../../src/process/poll';
import { expected } from '../parties/client';
import type { BankParty } from './cast';
import type { WrittenFile } from './oracle/bank-file';
import { readCsv } from './oracle/csv';
import type { SeenBankFile } from './oracle/seen';

/** Half a million lines and more. */
const MATCHED_WITHIN_MS = 600_000;
/** A thousand lines, whatever dies meanwhile; they are looked at more often, too. */
const FEW_WITHIN_MS = 120_000;
const FEW_BYTES = 64 * 1024;

export async function sendFile(
  { network }: Pick<BankParty, 'network'>,
  { text, through }: Pick<WrittenFile, 'text' | 'through'>,
  signal: AbortSignal,
): Promise<SeenBankFile & { statementId: string }> {
  const query = through === undefined ? '' : `?through=${through}`;
  const sent = await network.upload(`/v1/bank/statements${query}`, text, 'text/csv', randomUUID());
  const statementId = String(expected(202, sent)['statementId']);
  const path = `/v1/bank/statements/${statementId}`;
  const withinMs = text.length < FEW_BYTES ? FEW_WITHIN_MS : MATCHED_WITHIN_MS;
  const ended = await poll('The statement of a bank', withinMs, signal, async () => {
    const data = expected(200, await network.get(path));
    if (data['status'] === 'processing') throw new Error('it is being matched');
    return data;
  });
  return {
    statementId,
    status: String(ended['status']),
    summary: ended['summary'] as Record<string, unknown>,
    differences: readCsv((await network.get(`${path}/differences.csv`)).text),
  };
}
