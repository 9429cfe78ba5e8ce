import type { Command } from 'commander';
import { olderSecrets } from '../database/entity/client-credential';
import { keyUse, reencrypt, type ReencryptProgress } from '../database/key-rotation/re-encrypt';
import { claimRing } from '../database/key-rotation/claim-keyring';
import { revokeSigningKey, rotateKey } from '../database/keys/signing-key';
import { OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { command, onEngine } from './command';
import { asSchemaLogin } from './engine';
import { operator, reasonOption, type Explained } from './options';
import { progress, tableOf } from './output';

export function fill(keys: Command): void {
  command(keys, 'rotate', 'sign with a new key from now on; what the old one has signed stays good')
    .option('--books', 'the key that signs the heads of the books, instead of that of access tokens')
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, { books = false, ...options }: Explained & { books?: boolean }) => {
        const kid = await rotateKey(db, operator(options), books ? 'chain_keys' : 'signing_keys');
        const what = books ? 'The heads of the books' : 'Tokens';
        return { json: { kid }, text: `${what} are signed with ${kid} now` };
      }),
    );

  command(keys, 'revoke', 'end a signing key, and within a minute all tokens that it signed')
    .argument('<kid>')
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, kid: string, options: Explained) => {
        const current = await revokeSigningKey(db, operator(options), kid);
        if (current === undefined) {
          throw new OperatorError(
            'there is no such signing key: GET /.well-known/jwks.json has the ids of those in use',
          );
        }
        return {
          json: { kid, revoked: true, current },
          text: `${kid} is revoked; tokens are signed with ${current} now`,
        };
      }),
    );

  command(keys, 'status', 'how much each key of ASSENT_KEYS encrypts').action(
    onEngine(async ({ keyring }, config) => {
      const all = await asSchemaLogin(
        config,
        (db) => keyUse(db, ({ place, number, of }) => progress.part(number - 1, of, `${place} is counted`)),
        keyring,
      );
      const head = ['key', 'in the ring', 'encrypts', 'paymentIDs', 'deviceIds', 'client secrets'];
      const table = all.map((one) => {
        const columns = Object.entries(one.encrypts).map(([column, count]) => `${count} ${column}`);
        return [one.kid, one.ring, columns.join('\n'), one.paymentIds, one.deviceIds, one.clientSecrets];
      });
      return { json: { current: keyring.current, keys: all }, text: tableOf(head, table) };
    }),
  );

  command(keys, 'reseal', 'bring everything under the current key of ASSENT_KEYS, while all goes on')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ keyring }, config, options: Explained) => {
        const say: ReencryptProgress = ({ table, number, of, changed }) =>
          progress.part(
            number - 1,
            of,
            `${table}: ${counted(changed, 'rows')} brought under ${keyring.current}`,
          );
        const { changed, clientSecretsLeft } = await asSchemaLogin(
          config,
          async (db) => {
            await claimRing(db, keyring);
            return {
              changed: await reencrypt(db, operator(options), say),
              clientSecretsLeft: await olderSecrets(db),
            };
          },
          keyring,
        );
        const total = Object.values(changed).reduce((sum, count) => sum + count, 0);
        const left =
          clientSecretsLeft === 0
            ? ''
            : `\n${counted(clientSecretsLeft, 'client secrets')} keep their older key until the client's next token ` +
              'call: run "assent keys reseal" again after it, before that key leaves the ring';
        return {
          json: { kid: keyring.current, changed, clientSecretsLeft },
          text: `Everything is under ${keyring.current} now; ${total} rows were not${left}`,
        };
      }),
    );
}
