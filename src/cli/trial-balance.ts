import type { Command } from 'commander';
import { entityNames } from '../database/entity/create-entity';
import { readTrialBalance, type Sums } from '../database/ledger/read-trial-balance';
import { inDecimals, shownSums } from '../domain/money';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { dayOption } from './options';
import { partyCell, progress, tableOf } from './output';

/** Some 100 MB of memory; most networks have a hundredth of that. */
const ACCOUNTS_MAX = 200_000;

/** A table is laid out whole in memory, and no person reads more rows. JSON has all. */
const TABLE_ROWS_MAX = 1_000;

/** `assent trial-balance`: debits and credits of each account, which add up to zero. */
export function fill(command: Command): void {
  takingJson(command)
    .addOption(dayOption('--date <day>', 'at the end of this day of the network’s zone; left out, now'))
    .action(
      onEngine(async (db, _config, { date = null }: { date?: string | null }) => {
        progress.say('the balances are added up');
        const { accounts, totals, cut } = await readTrialBalance(db, date, ACCOUNTS_MAX);
        const ok = totals.every(({ debits, credits }) => debits === credits);
        if (!ok) process.exitCode = 1;
        const names = await entityNames(db, [...new Set(accounts.map(({ partyId }) => partyId))]);
        const rows = accounts
          .slice(0, TABLE_ROWS_MAX)
          .map((one) => [partyCell(names.get(one.partyId), one.partyId), one.account, ...cells(one)]);
        const isPart = cut || rows.length < accounts.length;
        return {
          json: {
            date,
            ok,
            totals: totals.map((one) => ({ currency: one.currency, ...shownSums(sums(one), one.currency) })),
            accounts: accounts.map((one) => ({
              ...one,
              name: names.get(one.partyId) ?? '',
              ...shownSums(sums(one), one.currency),
            })),
            cut,
          },
          text: [
            tableOf(
              ['party', 'account', '', 'debits', 'credits', 'balance'],
              [...rows, ...totals.map((one) => ['total', '', ...cells(one)])],
            ),
            ...(isPart ? [`These are the first ${rows.length} accounts: --json has more.`] : []),
            ok
              ? 'Debits and credits add up to zero.'
              : 'Debits and credits differ: "assent books verify" names the entries.',
          ].join('\n'),
        };
      }, anyRing),
    );
}

const sums = ({ debits, credits }: Sums) => ({ debits, credits, balance: credits - debits });

const cells = (one: Sums) => [
  one.currency,
  ...Object.values(sums(one)).map((minor) => inDecimals(minor, one.currency)),
];
