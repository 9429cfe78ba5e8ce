import type { Command } from 'commander';
import { rotateChainKey } from '../database/chain/key';
import { olderSecrets } from '../database/entity/client-credential';
import { keyUse, reseal } from '../database/keys/reseal';
import { claimRing } from '../database/keys/sealing-key';
import { revokeSigningKey, rotateSigningKey } from '../database/keys/signing-key';
import { counted } from '../domain/words/counted';
import { command, CommandError, onEngine } from './command';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';
import { tableOf } from './table';

/**
 * The keys that sign access tokens or the books, and those of the ring, under which everything is
 * sealed.
 */
export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that sign access tokens, and those that seal');

  command(keys, 'rotate', 'sign with a new key from now on; what the old one has signed stays good')
    .option('--books', 'the key that signs the heads of the books, instead of that of access tokens')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, { books, ...options }: Explained & { books?: boolean }) => {
        const rotate = books === true ? rotateChainKey : rotateSigningKey;
        const kid = await rotate(db, ring, operator(options));
        const what = books === true ? 'The heads of the books' : 'Tokens';
        return { json: { kid }, text: `${what} are signed with ${kid} now` };
      }),
    );

  command(keys, 'revoke', 'end a signing key, and within a minute all tokens that it signed')
    .argument('<kid>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, kid: string, options: Explained) => {
        const current = await revokeSigningKey(db, ring, operator(options), kid);
        if (current === undefined) {
          throw new CommandError(
            'there is no such signing key: GET /.well-known/jwks.json has the ids of those in use',
          );
        }
        return {
          json: { kid, revoked: true, current },
          text: `${kid} is revoked; tokens are signed with ${current} now`,
        };
      }),
    );

  command(keys, 'status', 'how much each key of ASSENT_KEYS seals').action(
    onEngine(async ({ ring }, config) =>
      asOwner(config, async (db) => {
        const all = await keyUse(db, ring, ({ place, number, of }) =>
          progress.part(number - 1, of, `${place} is counted`),
        );
        const head = ['key', 'in the ring', 'seals', 'paymentIDs', 'deviceIds', 'client secrets'];
        const table = all.map((one) => {
          const seals = Object.entries(one.seals).map(([column, count]) => `${count} ${column}`);
          return [one.kid, one.ring, seals.join('\n'), one.paymentIds, one.deviceIds, one.clientSecrets];
        });
        return { json: { current: ring.current, keys: all }, text: tableOf(head, table) };
      }),
    ),
  );

  command(keys, 'reseal', 'bring everything under the current key of ASSENT_KEYS, while all goes on')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ ring }, config, options: Explained) =>
        asOwner(config, async (db) => {
          await claimRing(db, ring);
          const by = operator(options);
          const changed = await reseal(db, ring, by, ({ table, number, of, changed: count }) =>
            progress.part(
              number - 1,
              of,
              `${table}: ${counted(count, 'rows')} brought under ${ring.current}`,
            ),
          );
          const total = Object.values(changed).reduce((sum, count) => sum + count, 0);
          const clientSecretsLeft = await olderSecrets(db, ring);
          const left =
            clientSecretsLeft === 0
              ? ''
              : `\n${counted(clientSecretsLeft, 'client secrets')} keep their older key until the client's next token ` +
                'call: run "assent keys reseal" again after it, before that key leaves the ring';
          return {
            json: { kid: ring.current, changed, clientSecretsLeft },
            text: `Everything is under ${ring.current} now; ${total} rows were not${left}`,
          };
        }),
      ),
    );
}
