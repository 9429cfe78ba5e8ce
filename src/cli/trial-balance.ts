import type { Command } from 'commander';
import { readTrialBalance, type AccountSums } from '../database/ledger/read-trial-balance';
import { inDecimals, shownSums } from '../domain/money';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { dayOption } from './options';
import { partyCell, progress, TABLE_ROWS_MAX, tableOf } from './output';

/** Some 100 MB of memory; most networks have a hundredth of that. */
const READ_MAX = 200_000;

export function fill(command: Command): void {
  takingJson(command)
    .addOption(dayOption('--date <day>', 'at the end of this day of the network’s zone; left out, now'))
    .action(
      onEngine(async (db, _config, { date = null }: { date?: string | null }) => {
        progress.say('the balances are added up');
        const found = await readTrialBalance(db, date, READ_MAX);
        const totals = found.filter(({ partyId }) => partyId === null);
        const accounts = found.slice(totals.length);
        const ok = totals.every(({ debits, credits }) => debits === credits);
        if (!ok) process.exitCode = 1;
        const table = accounts.slice(0, TABLE_ROWS_MAX);
        const cut = found.length === READ_MAX;
        return {
          json: {
            date,
            ok,
            totals: totals.map(({ currency, debits, credits }) => inMajor({ currency, debits, credits })),
            accounts: accounts.map(inMajor),
            cut,
          },
          text: [
            tableOf(
              ['party', 'account', '', 'debits', 'credits', 'balance'],
              [...table, ...totals].map(cells),
            ),
            ...(cut || table.length < accounts.length
              ? [`These are the first ${table.length} accounts: --json has more.`]
              : []),
            ok
              ? 'Debits and credits add up to zero.'
              : 'Debits and credits differ: "assent books verify" names the entries.',
          ].join('\n'),
        };
      }, anyRing),
    );
}

type Sums = Pick<AccountSums, 'currency' | 'debits' | 'credits'>;

const sumsOf = ({ debits, credits }: Sums) => ({ debits, credits, balance: credits - debits });

const inMajor = <Of extends Sums>(one: Of) => ({ ...one, ...shownSums(sumsOf(one), one.currency) });

const cells = ({ partyId, name, account, ...one }: AccountSums) => [
  partyId === null ? 'total' : partyCell(name, partyId),
  account,
  one.currency,
  ...Object.values(sumsOf(one)).map((minor) => inDecimals(minor, one.currency)),
];
