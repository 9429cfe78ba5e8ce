import type { Command } from 'commander';
import { recordAuditEvent } from '../database/record/audit-event';
import { readStanding } from '../database/entity/create-entity';
import { createAccessTokens } from '../database/keys/access-token';
import { OperatorError } from '../domain/failures';
import { SCOPES } from '../domain/scope';
import { onEngine, takingJson, unknownEntity } from './command';
import { operator, reasonOption, type Explained } from './options';

export function fill(token: Command): void {
  takingJson(token)
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async (db, config, entityId: string, options: Explained) => {
        const found = await readStanding(db, entityId);
        if (found === undefined) throw unknownEntity();
        if (!found.active)
          throw new OperatorError('this entity is disabled: "assent entity enable" lets it in again');
        const issued = await createAccessTokens({ db, config }).issue({ ...found, entityId, scopes: SCOPES });
        const { token: accessToken, tokenId, expiresInS, scope } = issued;
        // The audit event must exist before the token is printed.
        await db.transaction((trx) =>
          recordAuditEvent(trx, operator(options), {
            action: 'token.issued',
            entityId,
            after: { tokenId, expiresInS, scope },
          }),
        );
        const json = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresInS, scope };
        return { json, text: accessToken };
      }),
    );
}
