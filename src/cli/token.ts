import type { Command } from 'commander';
import { recordAuditEvent } from '../database/record/audit-event';
import { readStanding } from '../database/entity/create-entity';
import { createAccessTokens } from '../database/keys/access-token';
import { OperatorError } from '../domain/failures';
import { onEngine, takingJson, unknownEntity } from './command';
import { SCOPES, type Scope } from '../domain/scope';
import { operator, reasonOption, scopesOption, type Explained } from './options';

export function fill(token: Command): void {
  takingJson(token)
    .argument('<entityId>')
    .addOption(scopesOption('what it may do').default(SCOPES, 'all'))
    .addOption(reasonOption())
    .action(
      onEngine(async (db, config, entityId: string, options: Explained & { scopes: Scope[] }) => {
        const { scopes } = options;
        const found = await readStanding(db, entityId);
        if (found === undefined) throw unknownEntity();
        if (!found.active)
          throw new OperatorError('this entity is disabled: "assent entity enable" lets it in again');
        const issued = await createAccessTokens({ db, config }).issue({ ...found, entityId, scopes });
        const { token: accessToken, tokenId, expiresInS } = issued;
        // The audit event must exist before the token is printed.
        await db.transaction((trx) =>
          recordAuditEvent(trx, operator(options), {
            action: 'token.issued',
            entityId,
            after: { tokenId, expiresInS, scopes },
          }),
        );
        const scope = scopes.join(' ');
        const json = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresInS, scope };
        return { json, text: accessToken };
      }),
    );
}
