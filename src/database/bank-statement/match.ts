import {
  heldFor,
  isMalformed,
  judge,
  type Difference,
  type Known,
  type ReadLine,
  type StatementLine,
} from '../../domain/books/bank-statement';
import { isReference } from '../../domain/identifier/reference';
import { row, rows, type Transaction } from '../connection';
import {
  exceptionsEndedBy,
  keyOf,
  lockCharges,
  openStatementExceptions,
  type Booked,
  type StatementException,
} from '../reconciliation-exception/statement';
import { endExceptions } from '../reconciliation-exception/resolve';
import { takeAnswers, type Matching } from './answer';
import { keepDifferences, networks, stated, type NewDifference } from './difference';
import { knownOf, NOTED_BEFORE } from './known';
import { countExceptions, EXCEPTIONS_OF_FILE, takePage, type StatementStatus } from './statement';

/**
 * Judges the lines of a statement, page by page.
 *
 * First, those that are the bank's word on something open are taken as its answer, each in a
 * transaction of its own, as an answer is. Then one transaction judges the page, opens and ends
 * exceptions, counts, and deletes the page. So each line counts once, whoever dies in between; an
 * answer that was taken twice is agreed to the second time.
 */

interface Processing {
  bankId: string;
  status: StatementStatus;
  lines: number;
  done: number;
  /** That it has opened so far. */
  exceptions: number;
}

/**
 * Judges the next page. Another that is at the same statement may have taken the page whose answers
 * were taken: those of the next one are taken first, or its lines would be unknown.
 *
 * @returns how many lines are judged; undefined where none is left
 */
export async function matchNextPage(matching: Matching, statementId: string): Promise<number | undefined> {
  // Each round more than the first is one that somebody else has judged a page in.
  for (;;) {
    const position = await takeAnswers(matching, statementId);
    if (position === undefined) return undefined;
    const judged = await matchPage(matching, statementId, position);
    if (judged !== 'taken') return judged;
  }
}

async function matchPage(
  { db, keyring, workflowId, timeZone }: Matching,
  statementId: string,
  position: number,
): Promise<number | 'taken' | undefined> {
  return db.transaction(async (trx) => {
    const { bankId, status, done, exceptions } = await lockStatement(trx, statementId);
    if (status !== 'processing') return undefined;
    const page = await takePage(trx, statementId, position);
    if (!page) return 'taken';
    const lines = page.filter((one): one is StatementLine => !isMalformed(one));
    const known = await knownOf(trx, timeZone, bankId, lines);
    const judged = new PageJudgement(position, known);
    for (const [n, line] of page.entries()) judged.add(n, line);

    const ended = await exceptionsEndedBy(trx, bankId, judged.matched);
    const toLock = [...judged.toOpen, ...ended].map((one) => one.billingRequestId);
    await lockCharges(
      trx,
      toLock.filter((id) => id !== null),
    );
    const fresh = await noteMatches(trx, statementId, judged.matches);
    const room = EXCEPTIONS_OF_FILE - exceptions;
    const opened = await openStatementExceptions(trx, keyring, bankId, judged.toOpen, workflowId, room);
    await countExceptions(trx, statementId, opened.filter(({ isNew }) => isNew).length);
    const told = await tell(trx, statementId, judged.told);
    await endExceptions(
      trx,
      keyring,
      timeZone,
      ended.map((one) => one.exceptionId),
    );
    const { differences, counts } = judged.result(
      fresh,
      opened.map((one) => one.exceptionId),
      told,
    );
    await keepDifferences(trx, statementId, position, differences);
    await count(trx, statementId, counts, judged.days);
    return done + page.length;
  });
}

/**
 * One page of a bank at a time, whether lines are judged or what is missing is looked for: of two
 * statements, what the one has just brought would still be missing for the other, and what that
 * tells of would not be there yet for the first to end. Whoever takes turns does so before it locks
 * anything else.
 */
export async function lockBankStatements(trx: Transaction, bankId: string): Promise<void> {
  await rows(trx, `SELECT pg_advisory_xact_lock(hashtextextended('bank_statements ' || :bankId, 0))`, {
    bankId,
  });
}

/**
 * Takes turns with the bank's other statements, too.
 *
 * @throws Error where there is none
 */
export async function lockStatement(trx: Transaction, statementId: string): Promise<Processing> {
  const of = await row<{ bankId: string }>(
    trx,
    `SELECT bank_id AS "bankId" FROM bank_statements WHERE id = :statementId`,
    { statementId },
  );
  if (of) await lockBankStatements(trx, of.bankId);
  const found = await row<Processing>(
    trx,
    `SELECT bank_id AS "bankId", status, lines,
       matched + duplicates + unknown_here + amount_differs + malformed AS done, exceptions
     FROM bank_statements WHERE id = :statementId FOR UPDATE`,
    { statementId },
  );
  if (!found) throw new Error(`there is no ${statementId}`);
  return found;
}

interface Judged {
  position: number;
  line: ReadLine;
  difference: Difference | null;
  known?: Known | undefined;
  /** Index in `toOpen` of the exception that this line opens. */
  toOpenIndex?: number;
  /** The exception that there is already. */
  exceptionId?: string;
  /** By which another line is seen to tell the same. */
  toldKey?: string;
  /** As it is noted that a statement has it. */
  matchKey?: string;
}

/** What the lines of a page come to, before the database has said what was there already. */
class PageJudgement {
  /** Exceptions that its lines open. */
  readonly toOpen: StatementException[] = [];
  /** Transactions that are known by now, whose exceptions end. */
  readonly matched: Booked[] = [];
  /** Once each, with the first line that has it. */
  readonly matches = new Map<string, number>();
  /** What its lines are booked on. A known one vouches for its day, by its charge. */
  readonly days = { known: new Set<string>(), unknown: new Set<string>() };
  /** Lines that the network has otherwise. */
  readonly told = new Set<string>();
  private readonly judged: Judged[] = [];

  constructor(
    private readonly position: number,
    private readonly known: Map<number, Known>,
  ) {}

  add(n: number, line: ReadLine): void {
    const position = this.position + n;
    if (isMalformed(line)) {
      this.judged.push({ position, line, difference: 'malformed' });
      return;
    }
    const known = this.known.get(line.line);
    const verdict = judge(line, known);
    if (verdict.is === 'malformed') {
      const { problem } = verdict;
      this.judged.push({ position, line: { line: line.line, problem }, difference: 'malformed' });
      return;
    }
    this.days[known ? 'known' : 'unknown'].add(line.bookingDate);
    switch (verdict.is) {
      case 'matched': {
        const { role, billingRequestId } = verdict.known;
        this.matched.push({ ...line, creditOf: role === 'payee' ? billingRequestId : null });
        this.judged.push({
          position,
          line,
          difference: null,
          known,
          matchKey: this.match(line, verdict.known),
        });
        return;
      }
      case 'told': {
        const { exceptionId } = verdict;
        const toldKey = this.tell(exceptionId);
        this.judged.push({ position, line, difference: 'unknown_here', known, exceptionId, toldKey });
        return;
      }
      case 'amount_differs': {
        if (verdict.known.role !== 'open') this.match(line, verdict.known);
        this.open(position, line, known, differing(line, verdict.known));
        return;
      }
      // Named by a reference since the answers were taken: the next file of the bank has it again.
      case 'answer':
      case 'unknown_here':
        this.open(position, line, known, unknown(line));
    }
  }

  private open(
    position: number,
    line: StatementLine,
    known: Known | undefined,
    exception: StatementException & { kind: 'amount_differs' | 'unknown_here' },
  ): void {
    const toOpenIndex = this.toOpen.push(exception) - 1;
    const toldKey = this.tell(keyOf(exception));
    this.judged.push({ position, line, difference: exception.kind, known, toOpenIndex, toldKey });
  }

  private tell(key: string): string {
    this.told.add(key);
    return key;
  }

  /**
   * What was refused, and is accounted for, is a booking of its own: it does not stand for the one
   * that is counted.
   */
  private match({ line, bankTransactionId }: StatementLine, { resourceId, role }: Known): string {
    const key = {
      payee: `${resourceId}/credit`,
      refused: `${resourceId}/${bankTransactionId}`,
      counted: resourceId,
      reversal: resourceId,
      open: resourceId,
    }[role];
    if (!this.matches.has(key)) this.matches.set(key, line);
    return key;
  }

  /**
   * @param fresh those of the match keys that no earlier page of this file had
   * @param exceptionIds exceptions of `toOpen`, in its order; undefined for what is counted alone
   * @param told what no earlier page of this file has told; another line that does is a duplicate
   */
  result(fresh: ReadonlySet<string>, exceptionIds: (string | undefined)[], told: Set<string>) {
    const counts = { matched: 0, duplicate: 0, unknown_here: 0, amount_differs: 0, malformed: 0 };
    const differences: NewDifference[] = [];
    const matched = new Set<string>();
    for (const { position, line, known, toOpenIndex, toldKey, matchKey, ...one } of this.judged) {
      let { difference } = one;
      const exceptionId = toOpenIndex === undefined ? one.exceptionId : exceptionIds[toOpenIndex];
      if (toldKey !== undefined) {
        if (!told.delete(toldKey)) difference = 'duplicate';
      } else if (matchKey !== undefined) {
        if (matched.has(matchKey) || !fresh.has(matchKey)) difference = 'duplicate';
        matched.add(matchKey);
      }
      if (difference === null) {
        counts.matched += 1;
        continue;
      }
      counts[difference as keyof typeof counts] += 1;
      differences.push({
        ...(isMalformed(line) ? line : { ...stated(line), ...(known && networks(known)) }),
        position,
        difference,
        exceptionId,
      });
    }
    return { differences, counts };
  }
}

function differing(line: StatementLine, known: Known) {
  const { bankTransactionId, direction } = line;
  return {
    kind: 'amount_differs' as const,
    billingRequestId: known.billingRequestId,
    refundId: known.refundId,
    bankTransactionId,
    direction,
    amount: known.amount,
    currency: known.currency,
    bookedAmount: line.amount,
    bookedCurrency: line.currency,
    reference: null,
    held: heldFor(line, known),
  };
}

function unknown({ bankTransactionId, direction, amount, currency, reference }: StatementLine) {
  return {
    kind: 'unknown_here' as const,
    billingRequestId: null,
    refundId: null,
    bankTransactionId,
    direction,
    amount,
    currency,
    bookedAmount: amount,
    bookedCurrency: currency,
    reference: reference !== null && isReference(reference) ? reference : null,
    held: 0n,
  };
}

/** @returns those that this statement has not said before */
async function noteMatches(
  trx: Transaction,
  statementId: string,
  matches: ReadonlyMap<string, number>,
): Promise<Set<string>> {
  const noted = await rows<{ id: string }>(
    trx,
    `INSERT INTO bank_statement_matches AS m (resource_id, statement_id, line)
     SELECT id, :statementId, line FROM unnest(:ids::text[], :lines::int[]) AS g (id, line) ORDER BY id
     ${NOTED_BEFORE}
     RETURNING resource_id AS id`,
    { statementId, ids: [...matches.keys()], lines: [...matches.values()] },
  );
  return new Set(noted.map(({ id }) => id));
}

/** @returns those that this statement has not told before */
async function tell(trx: Transaction, statementId: string, keys: ReadonlySet<string>): Promise<Set<string>> {
  if (keys.size === 0) return new Set();
  const told = await rows<{ key: string }>(
    trx,
    `WITH given AS (SELECT key, hashtextextended(key, 0) AS difference FROM unnest(:keys::text[]) AS g (key)),
     told AS (
       INSERT INTO bank_statement_told (statement_id, difference) SELECT :statementId, difference FROM given
       ON CONFLICT DO NOTHING RETURNING difference)
     SELECT key FROM given WHERE difference IN (SELECT difference FROM told)`,
    { statementId, keys: [...keys] },
  );
  return new Set(told.map(({ key }) => key));
}

async function count(
  trx: Transaction,
  statementId: string,
  counts: ReturnType<PageJudgement['result']>['counts'],
  days: PageJudgement['days'],
): Promise<void> {
  const known = [...days.known].sort();
  await rows(
    trx,
    `UPDATE bank_statements SET matched = matched + :matched, duplicates = duplicates + :duplicate,
       unknown_here = unknown_here + :unknown_here, amount_differs = amount_differs + :amount_differs,
       malformed = malformed + :malformed,
       known_first_day = least(known_first_day, :first::date), known_last_day = greatest(known_last_day, :last::date),
       unknown_days = ARRAY(SELECT DISTINCT day FROM unnest(unknown_days || :unknown::date[]) AS u (day) ORDER BY day)
     WHERE id = :statementId`,
    {
      statementId,
      ...counts,
      first: known.at(0) ?? null,
      last: known.at(-1) ?? null,
      unknown: [...days.unknown],
    },
  );
}
