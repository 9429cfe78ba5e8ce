import {
  acceptStaged,
  discardStaged,
  onboardBatch,
  PAGE_ENTRIES,
  readBatch,
  readBatchCustomers,
  readBatchFailures,
  SMALL_BATCH,
  stagePage,
  type Batch,
} from '../../database/customer/migrate-customers';
import type { Executor } from '../../database/pool/connection';
import type { BatchEntry } from '../../database/customer/onboard-customers';
import { newId } from '../../database/identifier/new-id';
import { enqueueStarts } from '../../database/outbox';
import type { Problem } from '../../domain/failures';
import { beginningOf } from '../../domain/plain-text';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { JSON_TYPE } from '../http/body';
import { BANK } from '../http/callers';
import type { ApiDeps } from '../http/deps';
import type { Download } from '../http/download';
import { NAME_MAX, text } from '../http/request-fields';
import { canonicalJson, checkJson } from '../http/json';
import { JsonListReader } from '../http/json-list';
import { Slots } from '../http/slots';
import type { Call, PathCall } from '../http/call';
import { section, type Arriving, type LongBody, type Received } from '../http/route';
import { check, invalidRequest } from '../http/validation';
import * as schema from './migration-schema';
import { BATCH_ENTRIES_MAX, onboardingBody, person, tooMany } from './migration-schema';

/** Customers, brought in by their banks in batches of any size. */

/** Sixteen hundred bytes for each entry, five times what people need. */
const BODY_LIMIT_BYTES = 16 * 1024 * 1024;
/** A person with every field at its longest, escaped throughout, has less. */
const ENTRY_MAX_BYTES = 32 * 1024;
/** A longer reason does not help to mend an entry. */
const REASON_MAX = 1_000;
/** A batch at its largest is read in about two seconds. */
const RETRY_S = 2;
/**
 * Large batches that one process takes in at a time. Each has about a megabyte in memory and, now
 * and then, a connection to Postgres; charges must not wait for either.
 */
const LOADS = { what: 'large batches', all: 20, ofCaller: 2, retryAfterS: RETRY_S };
/**
 * Small batches that are in memory, until they are onboarded, of some two megabytes at most. A
 * bank may have more of them than large ones: they take no connection while they arrive.
 */
const HELD = { what: 'batches', all: 50, ofCaller: 12, retryAfterS: RETRY_S };
/**
 * A batch up to this size takes no slot: other requests are as large, and a bank may send each
 * customer by itself.
 */
const FEW = { entries: 10, bytes: 16 * 1024 };

/** A batch that has arrived: a small one as it is, of a large one where it is staged. */
type ArrivedBatch = { entries: BatchEntry[] } | { batchId: string; total: number };

/**
 * Takes batches in as they arrive. Up to `SMALL_BATCH` entries stay in memory. A longer batch is
 * staged page by page, and so costs no more memory.
 */
export function batchBody(): LongBody<ArrivedBatch, unknown> {
  const loads = new Slots(LOADS);
  const held = new Slots(HELD);

  async function receive({
    bytes: body,
    deps,
    caller: bank,
  }: Arriving<unknown>): Promise<Received<ArrivedBatch>> {
    const list = new JsonListReader(ENTRY_MAX_BYTES);
    const canonical = deps.db.keyring.blindIndexesOfParts('idempotency.body');
    const batchId = newId('batch');
    let entries: BatchEntry[] = [];
    let total = 0;
    let bytesRead = 0;
    let slot: Slots | undefined;

    function takeSlot(next: Slots): void {
      if (slot === next) return;
      next.enter(bank);
      slot?.leave(bank);
      slot = next;
    }

    async function stage(): Promise<void> {
      takeSlot(loads);
      const page = entries.slice(0, PAGE_ENTRIES);
      await stagePage(deps.db, batchId, total - entries.length, page);
      entries = entries.slice(PAGE_ENTRIES);
    }

    async function release(): Promise<void> {
      slot?.leave(bank);
      if (slot === loads) await discard(deps, batchId);
    }

    try {
      canonical.add('{"customers":[');
      for await (const chunk of body) {
        bytesRead += chunk.length;
        if (!slot && bytesRead > FEW.bytes) takeSlot(held);
        for (const bytes of list.read(chunk)) {
          if (total === BATCH_ENTRIES_MAX) throw invalidRequest([{ path: 'customers', message: tooMany }]);
          const { entry, form } = read(bytes);
          if (total > 0) canonical.add(',');
          canonical.add(form);
          entries.push(own(entry));
          total += 1;
          if (!slot && total > FEW.entries) takeSlot(held);
          if (total > SMALL_BATCH && entries.length >= PAGE_ENTRIES) await stage();
        }
      }
      canonical.add(']}');
      const { problems } = check(onboardingBody, list.frame(), '');
      if (problems) throw invalidRequest(problems);
      if (total <= SMALL_BATCH) return { body: { entries }, indexes: canonical.end(), release };
      while (entries.length > 0) await stage();
      return { body: { batchId, total }, indexes: canonical.end(), release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  return { types: { [JSON_TYPE]: onboardingBody }, limitBytes: BODY_LIMIT_BYTES, receive };
}

const TOO_LARGE: BatchEntry = { reason: `has more than ${ENTRY_MAX_BYTES / 1024} KiB` };

/** A copy: a text that is cut out of another keeps all of that in memory, as a reason its whole. */
const own = (entry: BatchEntry) => JSON.parse(JSON.stringify(entry)) as BatchEntry;

/**
 * One entry, and its canonical form. A JSON that two readers may take differently has none, and
 * stands as it came.
 */
function read(bytes: Buffer | undefined): { entry: BatchEntry; form: string } {
  if (!bytes) return { entry: TOO_LARGE, form: 'null' };
  const json = checkJson(bytes);
  if (json.problems) return { entry: { reason: reasonOf(json.problems) }, form: bytes.toString() };
  const given = json.value as Record<string, unknown>;
  const form = canonicalJson(given);
  const checked = check(person, given, '');
  if (!checked.problems) return { entry: { person: checked.value }, form };
  return { entry: { ...clientRefOf(given), reason: reasonOf(checked.problems) }, form };
}

function reasonOf(problems: Problem[]): string {
  const reason = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  return beginningOf(reason, REASON_MAX);
}

/** The bank's own name for a person who is invalid, where at least that can be read. */
function clientRefOf(given: Record<string, unknown>): { clientRef?: string } {
  const checked = check(text(NAME_MAX), given['clientRef'], '');
  return checked.problems ? {} : { clientRef: checked.value };
}

/** An accepted batch stays. The sweep takes away one that cannot be discarded now. */
async function discard({ db, log }: ApiDeps, batchId: string): Promise<void> {
  await discardStaged(db, batchId).catch((error: unknown) => {
    log.warn({ err: error, batchId }, 'staged customers are left for the sweep');
  });
}

async function onboardCustomers({ accept, body, caller }: Call<ArrivedBatch>) {
  const bankId = caller.entityId;
  if ('entries' in body) {
    return accept(async (trx) => {
      const batch = await onboardBatch(trx, bankId, body.entries);
      return { status: 201, message: messageOf(batch), data: batch };
    });
  }
  const { batchId, total } = body;
  return accept(async (trx) => {
    const batch = await acceptStaged(trx, bankId, batchId, total);
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.customerMigration(batchId),
        attributes: { status: batch.status, bankId },
        summary: workflowSummary.customerMigration({ total, bankId }),
      },
    ]);
    return { status: 202, message: messageOf(batch), data: { ...batch, ...filesOf(batchId) } };
  });
}

function messageOf({ status, summary }: Batch): string {
  return status === 'processing'
    ? `${summary.total} customers are being onboarded`
    : `${summary.successful} of ${summary.total} customers onboarded`;
}

function filesOf(batchId: string) {
  const folder = `/v1/bank/customers/batches/${batchId}`;
  return { customersUrl: `${folder}/customers.csv`, failuresUrl: `${folder}/failures.csv` };
}

async function showBatch({ caller, deps, params }: PathCall<typeof schema.batchPath>) {
  const batch = await readBatch(deps.db, caller.entityId, params.batchId);
  const { batchId, summary } = batch;
  if (summary.total > SMALL_BATCH) {
    return { message: messageOf(batch), data: { ...batch, ...filesOf(batchId) } };
  }
  const [customers, failures] = await Promise.all([
    all(readBatchCustomers(deps.db, batchId)),
    all(readBatchFailures(deps.db, batchId)),
  ]);
  return { message: messageOf(batch), data: { ...batch, customers, failures } };
}

async function all<One>(pages: AsyncIterable<One[]>): Promise<One[]> {
  const found: One[] = [];
  for await (const page of pages) found.push(...page);
  return found;
}

const customersFile = batchFile('customers.csv', ['clientRef', 'customerId', 'lookupID'], readBatchCustomers);
const failuresFile = batchFile('failures.csv', ['index', 'clientRef', 'reason'], readBatchFailures);

function batchFile(
  fileName: string,
  columns: Download['columns'],
  pagesOf: (db: Executor, batchId: string) => Download['pages'],
) {
  return async ({ caller, deps, params }: PathCall<typeof schema.batchPath>): Promise<Download> => {
    const { batchId } = await readBatch(deps.db, caller.entityId, params.batchId);
    return { fileName, columns, pages: pagesOf(deps.db, batchId) };
  };
}

const route = section('Customers');
const BATCH = '/v1/bank/customers/batches/:batchId';

export const migrationRoutes = () => [
  route('post', '/v1/bank/customers', {
    id: 'onboardCustomers',
    summary: 'Onboard customers',
    description:
      'Adds up to 10 000 of your customers to the network and gives each a `lookupID`. Each customer is decided on separately: one that is not valid, or a duplicate, is reported in `failures` and does not stop the others, so check `failures` and not only the status. Up to 500 customers are onboarded before the answer (201). A larger batch is accepted (202) and processed in the background; the webhook `migration.completed` reports its end.',
    takes: { ...BANK, scope: 'manage', longBody: batchBody(), idempotent: true },
    answers: {
      201: { description: '1 of 2 customers onboarded', data: schema.smallBatch },
      202: {
        description: '1200 customers are being onboarded',
        data: schema.largeBatch,
        example: {
          status: 'processing',
          summary: { total: 1200, successful: 0, failed: 0, duplicates: 0 },
        },
      },
    },
    handle: onboardCustomers,
  }),
  route('get', BATCH, {
    id: 'getBatch',
    summary: 'Retrieve a batch',
    description:
      'The state of one of your batches. While it is processed, `summary` counts what has been done so far.',
    takes: { ...BANK, params: schema.batchPath },
    answers: { 200: { description: '1 of 2 customers onboarded', data: schema.batch } },
    handle: showBatch,
  }),
  route('get', `${BATCH}/customers.csv`, {
    id: 'downloadBatchCustomers',
    summary: 'Download the customers of a batch',
    description:
      'CSV with the columns `clientRef`, `customerId` and `lookupID`. While the batch is processed, the file has what has been done so far.',
    takes: { ...BANK, params: schema.batchPath },
    answers: { 200: { description: 'The file', csv: 'only' } },
    handle: customersFile,
  }),
  route('get', `${BATCH}/failures.csv`, {
    id: 'downloadBatchFailures',
    summary: 'Download the failures of a batch',
    description:
      'CSV with the columns `index` (from 0), `clientRef` and `reason`. While the batch is processed, the file has what has been done so far.',
    takes: { ...BANK, params: schema.batchPath },
    answers: { 200: { description: 'The file', csv: 'only' } },
    handle: failuresFile,
  }),
];
