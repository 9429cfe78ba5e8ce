import type { Command } from 'commander';
import { entityNames } from '../database/entity/create-entity';
import { readFinality } from '../database/ledger/read-statement';
import { readTrialBalance, type Sums } from '../database/ledger/read-trial-balance';
import { onDay } from '../domain/books/statement';
import { shownSums, sumsInFull } from '../domain/money';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { dayOption } from './options';
import { progress, shortName, tableOf } from './output';

/** Some 100 MB of memory; most networks have a hundredth of that. */
const ACCOUNTS_MAX = 200_000;

/** A table is laid out whole in memory, and no person reads more rows. JSON has all. */
const TABLE_ROWS_MAX = 1_000;

/** `assent trial-balance`: debits and credits of each account, which add up to zero. */
export function fill(command: Command): void {
  takingJson(command)
    .addOption(dayOption('--date <day>', 'at the end of this day of the network’s zone; left out, now'))
    .action(
      onEngine(async (db, { NETWORK_TIMEZONE: timezone }, { date = null }: { date?: string | null }) => {
        progress.say('the balances are added up');
        // Asked first: figures read after it are as final as it says.
        const final = date !== null && (await readFinality(db, onDay(date), null)).final;
        const { accounts, totals, cut } = await readTrialBalance(db, date, ACCOUNTS_MAX);
        const wrong = totals.filter(({ debits, credits }) => debits !== credits);
        if (wrong.length > 0) process.exitCode = 1;
        const names = await entityNames(db, [...new Set(accounts.map(({ partyId }) => partyId))]);
        const rows = accounts.slice(0, TABLE_ROWS_MAX).map(({ partyId, account, ...sums }) => {
          const { debits, credits, balance } = sumsInFull(amountsOf(sums), sums.currency);
          const name = names.get(partyId);
          const party = name === undefined ? partyId : `${shortName(name)}\n${partyId}`;
          return [party, account, sums.currency, debits, credits, balance];
        });
        const isPart = cut || rows.length < accounts.length;
        return {
          json: {
            date,
            timezone,
            final,
            ok: wrong.length === 0,
            totals: totals.map((sums) => ({ currency: sums.currency, ...shown(sums) })),
            accounts: accounts.map(({ partyId, account, ...sums }) => ({
              partyId,
              name: names.get(partyId) ?? '',
              account,
              currency: sums.currency,
              ...shown(sums),
            })),
            cut,
          },
          text: [
            date === null
              ? 'All that was posted so far.'
              : `All that was posted up to ${date}, which is ${final ? 'final' : 'not final yet'}.`,
            tableOf(['party', 'account', '', 'debits', 'credits', 'balance'], rows),
            ...(isPart ? [`These are the first ${rows.length} accounts: --json has more.`] : []),
            ...totals.map(totalInWords),
          ].join('\n'),
        };
      }, anyRing),
    );
}

const amountsOf = ({ debits, credits }: Sums) => ({ debits, credits, balance: credits - debits });

const shown = (sums: Sums) => shownSums(amountsOf(sums), sums.currency);

function totalInWords(sums: Sums): string {
  const { debits, credits, balance } = sumsInFull(amountsOf(sums), sums.currency);
  return sums.debits === sums.credits
    ? `${sums.currency}: debits and credits are ${debits} each, and add up to zero.`
    : `${sums.currency}: debits are ${debits}, credits ${credits}: ${balance} is left over. "assent books verify" names the entries.`;
}
