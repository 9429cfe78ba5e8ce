import * as entity from '../../src/database/entity/create-entity';
import type { Database, Transaction } from '../../src/database/pool/connection';
import { recordAuditEvent } from '../../src/database/record/audit-event';
import * as endpoint from '../../src/database/webhook/change-endpoint';
import type { TrustLevel } from '../../src/domain/entity';
import { OPERATOR } from './operator';

/** Changes of a party with their audit event, and with nothing that else follows from them. */

const onRecord = (
  db: Pick<Database, 'transaction'>,
  action: `${string}.${string}`,
  entityId: string,
  change: (trx: Transaction) => Promise<unknown>,
) =>
  db.transaction(async (trx) => {
    await change(trx);
    await recordAuditEvent(trx, OPERATOR, { action, entityId });
  });

export const setEntityTrust = (db: Database, id: string, trust: TrustLevel) =>
  onRecord(db, 'entity.trust_set', id, (trx) => entity.setEntityTrust(trx, id, trust));

export const setEntityStatus = (db: Database, id: string, status: entity.Entity['status']) =>
  onRecord(db, status === 'active' ? 'entity.enabled' : 'entity.disabled', id, (trx) =>
    entity.setEntityStatus(trx, id, status),
  );

export const setWebhookUrl = (db: Database, id: string, url: string | null) =>
  onRecord(db, 'endpoint.changed', id, (trx) => endpoint.setWebhookUrl(trx, id, url));
