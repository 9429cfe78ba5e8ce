import type { z } from 'zod';
import type { Executor } from '../../database/pool/connection';
import { isMerchantOf } from '../../database/entity/create-entity';
import { readFinality } from '../../database/ledger/read-statement';
import type { Party } from '../../database/query/party';
import { Failure } from '../../domain/failures';
import { ANYONE, BILLERS } from '../http/callers';
import type { ApiDeps } from '../http/deps';
import { keepFileDigest, readPartyStatement, statementOf } from '../../files/party-statement';
import { statementFile as contentOf } from '../../files/statement-file';
import type { Download } from '../http/download';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import * as schema from './statement-schema';

/**
 * Statements: what a party is owed at the end of a settlement day or a month, and each thing that
 * moved it.
 */

type Filter = z.output<typeof schema.statementFileQuery>;

export async function showStatement({ caller, query, deps }: QueryCall<typeof schema.statementQuery>) {
  const asked = periodOf(query);
  const party = await partyOf(deps.db, caller, query.merchantId);
  const data = await readPartyStatement(meansOf(deps), party, asked, query.currency);
  const said = data.final ? 'final' : 'not final yet';
  return { message: `The statement of ${asked} in ${data.currency} is ${said}`, data };
}

const meansOf = ({ db, config, log }: ApiDeps) => ({ db, config, warn: log.warn.bind(log) });

/** @throws Failure invalid_request unless it is either a day or a month */
function periodOf({ date, month }: z.output<typeof schema.statementQuery>): string {
  const period = date ?? month;
  if (period === undefined)
    throw invalidRequest([{ path: 'query.date', message: 'is required, or a month' }]);
  if (date !== undefined && month !== undefined)
    throw invalidRequest([{ path: 'query.month', message: 'must not stand beside a date' }]);
  return period;
}

async function statementFile({
  caller,
  query,
  params: { date },
  deps,
}: Call<unknown, Filter, z.output<typeof schema.statementFilePath>>) {
  const means = meansOf(deps);
  const party = await partyOf(deps.db, caller, query.merchantId);
  const of = await statementOf(means, party, date, query.currency);
  const { final, edition } = await readFinality(deps.db, of.days, of.party);
  return {
    ...contentOf(deps.db, of),
    fileName: `statement-${date}-${of.currency}.csv`,
    ...(final && { sent: (sha256: string) => keepFileDigest(means, of, edition, sha256) }),
  } satisfies Download;
}

async function partyOf(db: Executor, { entityId, role }: Party, merchantId?: string): Promise<Party> {
  if (merchantId === undefined) return { entityId, role };
  const isOwn = role === 'merchant' ? merchantId === entityId : await isMerchantOf(db, entityId, merchantId);
  if (!isOwn) throw new Failure('not_found', 'There is no such merchant.');
  return { entityId: merchantId, role: 'merchant' };
}

const route = section('Statements');
const refusals = { not_found: 'You have no merchant with this id' };

export const statementRoutes = [
  route('get', '/v1/statements', {
    id: 'getStatement',
    summary: 'Retrieve a statement',
    description:
      'What moved on one settlement day (`date`) or in one `month`, in one currency, and what the network owes you for it: for a bank, a merchant, or a provider, whose merchants are taken together unless it names one. A charge settles on the day of its `settledAt` in the network’s time zone. `closingBalance` is the next day’s `openingBalance`. The figures of a month are the sums of its days’, and of the current month end today. For a merchant it is `openingBalance` + `charges` − `refunds` + `refundReturns` − `reversals`; for a bank `openingBalance` − `charges` + `refunds` − `refundReturns` + `reversals` + `credits` − `creditsReversed` + `writeOffs`.',
    takes: { ...ANYONE, query: schema.statementQuery, only: { 'query.merchantId': BILLERS.roles } },
    answers: {
      200: { description: 'The statement of 2026-03-02 in NGN is final', data: schema.statement },
    },
    refusals,
    handle: showStatement,
  }),
  route('get', '/v1/statements/:date.csv', {
    id: 'getStatementFile',
    summary: 'Download a statement',
    description:
      'Each transaction of the statement of a day or a month, with the columns of the transaction history, as it was when its day ended: `refundedAmount` and `reversedAmount` are what had gone back by then, and a refund that was returned later is `completed`. A write-off has the type `write_off` and no id. The last line has `total` in its first column, the number of lines before it in the second, and the sum of their amounts in the third. A month’s lines are those of its days, in order. Once the day or month is final the bytes are the same whenever they are asked for.',
    takes: {
      ...ANYONE,
      params: schema.statementFilePath,
      query: schema.statementFileQuery,
      only: { 'query.merchantId': BILLERS.roles },
    },
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals,
    handle: statementFile,
  }),
];
