import { onDatabase } from '../../src/database/pool/one-connection';
import { poll } from '../../src/process/poll';

/*
 * A bank sends a file of very many lines that nobody here knows. It may cost what the contract
 * bounds, and nothing else: some exceptions, some bytes for each line, and no more lines on a day
 * than were agreed.
 */

const LINES = 60_000;
/** Lines of a day for the engine that is attacked: the second file passes them. */
export const LINES_PER_DAY = 100_000;
const EXCEPTIONS_MAX = 1_000;
/** An exception takes some kilobytes with its webhooks, a counted line some tens of bytes. */
const GROWTH_MAX_BYTES = EXCEPTIONS_MAX * 8_000 + LINES * 100;
/** A minute where nothing else is done. */
const WITHIN_MS = 8 * 60_000;

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction\n';

export async function attackWithBankFile(
  apiUrl: string,
  ownerUrl: string,
  token: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string[]> {
  const findings: string[] = [];
  const url = `${apiUrl}/v1/bank/statements`;
  const authorization = `Bearer ${token}`;
  const day = new Date().toISOString().slice(0, 10);
  const send = (prefix: string) => {
    const lines = Array.from({ length: LINES }, (_, n) => `${prefix}${n},${day},5.00,NGN,debit\n`);
    const headers = { authorization, 'content-type': 'text/csv' };
    return fetch(url, { method: 'POST', headers, body: HEADER + lines.join('') });
  };
  const count = (sql: string, ...values: unknown[]) =>
    onDatabase(ownerUrl, async (client) => {
      const { rows } = await client.query<{ n: string }>(sql, values);
      return Number(rows[0]?.n ?? 0);
    });
  const bytes = () =>
    count(
      `SELECT sum(pg_total_relation_size(oid)) AS n FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
  const before = await bytes();
  const sent = await send('first');
  const { data } = (await sent.json()) as { data?: { statementId: string } };
  if (sent.status !== 202 || !data) return [`a file of ${LINES} lines was answered ${sent.status}`];
  const { status, summary } = await matched(`${url}/${data.statementId}`, authorization, signal);
  if (status !== 'completed' || summary['unknownHere'] !== LINES)
    findings.push(`of ${LINES} unknown lines ${summary['unknownHere']} were counted, and it is ${status}`);
  const opened = await count('SELECT exceptions AS n FROM bank_files WHERE id = $1', data.statementId);
  if (opened > EXCEPTIONS_MAX) findings.push(`a file of ${LINES} lines opened ${opened} exceptions`);
  const grown = (await bytes()) - before;
  if (grown > GROWTH_MAX_BYTES) findings.push(`a file of ${LINES} lines took ${grown} bytes of the disk`);
  const second = await send('second');
  const body = await second.text();
  if (second.status !== 429 || second.headers.get('retry-after') === null)
    findings.push(`a file beyond the lines of a day was answered ${second.status}: ${body}`);
  const left = await count('SELECT count(*) AS n FROM bank_file_pages');
  if (left > 0) findings.push(`a refused file has left ${left} pages`);
  say(`A bank's file of ${LINES} lines: ${opened} exceptions, ${(grown / 1e6).toFixed(1)} MB`);
  return findings;
}

interface Shown {
  status: string;
  summary: Record<string, number>;
}

const matched = (url: string, authorization: string, signal: AbortSignal): Promise<Shown> =>
  poll('The file of a bank', WITHIN_MS, signal, async () => {
    const { data } = (await (await fetch(url, { headers: { authorization } })).json()) as { data: Shown };
    if (data.status === 'processing') throw new Error('it is being matched');
    return data;
  });
