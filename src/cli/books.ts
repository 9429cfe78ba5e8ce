import type { Command } from 'commander';
import { dailyHeads, readHead, signerOf, type StoredHead } from '../database/chain/sign-head';
import { chainKeys } from '../database/chain/chain-key';
import { ringFaults } from '../database/key-rotation/claim-keyring';
import { keepResult } from '../database/verify/nightly-result';
import { compareBooks, provenKeys, verify, type Found } from '../database/verify/verify-books';
import { OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { command, onEngine } from './command';
import { anyRing } from './engine';
import { dayOption } from './options';
import { progress, tableOf } from './output';

/** SQLSTATE of a statement that writes on a server that only reads. */
const READ_ONLY = '25006';

export function fill(books: Command): void {
  command(
    books,
    'verify',
    'compare the ledger with itself, with charges, refunds, reversals, exceptions and their webhooks, and all of it with its chains',
  )
    .addOption(dayOption('--from <day>', 'only from this day of the network’s zone on'))
    .addOption(dayOption('--to <day>', 'only up to this day'))
    .action(
      onEngine(async (db, _config, options: { from?: string; to?: string }) => {
        const { from = null, to = null } = options;
        if (from !== null && to !== null && from > to) throw new OperatorError('--from is after --to');
        const pages = compareBooks(db, await provenKeys(db), { from, to });
        const verified = await verify(pages, ({ compared, differences }, check) =>
          progress.say(`${compared[check]} ${check} compared, ${differences} differences`),
        );
        // An auditor's ring, or a copy that only reads, says nothing of this service.
        const isOwn = (await ringFaults(db, db.keyring)).length === 0;
        if (isOwn && from === null && to === null) {
          await keepResult(db, verified, null).catch((error: unknown) => {
            if ((error as { code?: string }).code !== READ_ONLY) throw error;
          });
        }
        const { compared, differences, found } = verified;
        const [first = null] = found;
        if (first) process.exitCode = 1;
        const end = first
          ? `The books have ${counted(differences, 'differences')}. The first: ${inWords(first)}.`
          : compared['heads'] === 0
            ? 'Nothing is chained yet: nothing was compared with the chains, all else is right. Run it again in five minutes.'
            : 'The books are right.';
        return {
          json: { ok: first === null, first, ...verified },
          text: [...found.map(inWords), tableOf(['check', 'compared'], Object.entries(compared)), end].join(
            '\n',
          ),
        };
      }, anyRing),
    );
  command(books, 'heads', 'the last signed head of each day, and the keys to judge them by').action(
    onEngine(async (db) => {
      progress.say('the heads are read');
      const heads = await dailyHeads(db);
      const keys = await chainKeys(db);
      return { json: { keys, heads: heads.map(shown) }, text: heads.map(inLine).join('\n') };
    }, anyRing),
  );
}

const inWords = ({ check, id, what }: Found) => `${check}: ${id}: ${what}`;

function shown({ number, day, jws }: StoredHead) {
  return { number: Number(number), day, signedAt: readHead(jws)?.signedAt ?? null, jws };
}

const inLine = ({ number, day, jws }: StoredHead) =>
  `${day}: head ${number}, signed at ${readHead(jws)?.signedAt} with ${signerOf(jws)}`;
