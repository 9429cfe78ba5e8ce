import type { Command } from 'commander';
import { listWriteOffs, type WriteOff } from '../database/ledger/list-write-offs';
import { entityNames } from '../database/entity/create-entity';
import { groupBy } from '../domain/group';
import { inMoney, shownSum } from '../domain/money';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { firstDayOf, monthOption } from './options';
import { shortName, tableOf } from './output';

/** More than people write off in a month; they are laid out whole in memory. */
const LISTED_MAX = 10_000;

/** `assent write-offs`: what was written off in a month, by whom and why, and what came back. */
export function fill(command: Command): void {
  takingJson(command)
    .addOption(monthOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, { month }: { month: string }) => {
        const found = await listWriteOffs(db, firstDayOf(month), LISTED_MAX + 1);
        const listed = found.slice(0, LISTED_MAX);
        if (found.length > LISTED_MAX) {
          process.stderr.write(`These are the first ${LISTED_MAX} of ${month}.\n`);
        }
        const names = await entityNames(db, [...new Set(listed.map(({ bankId }) => bankId))]);
        const totals = [...groupBy(listed, ({ currency }) => currency)].map(([currency, all]) => ({
          currency,
          ...totalsOf(all, currency),
        }));
        return {
          json: {
            month,
            totals,
            writeOffs: listed.map(({ amount, ...one }) => ({ ...one, ...shownSum(amount, one.currency) })),
          },
          text: listed.length > 0 ? table(listed, names) : `Nothing was written off in ${month}.`,
        };
      }, anyRing),
    );
}

/** By what became of the bank's debt. */
const totalsOf = (all: WriteOff[], currency: string) => {
  const sumOf = (which: WriteOff['entry']) => {
    const some = all.filter(({ entry }) => entry === which);
    const { amount, ...more } = shownSum(
      some.reduce((sum, one) => sum + one.amount, 0n),
      currency,
    );
    return { count: some.length, amount, ...more };
  };
  return { borne: sumOf('write_off'), takenBack: sumOf('write_off_return'), withoutEntry: sumOf(null) };
};

const WORDS = { write_off: 'borne by the network', write_off_return: 'taken back', none: 'no entry' };

function table(listed: WriteOff[], names: ReadonlyMap<string, string>): string {
  const head = ['when\nexception, reference', 'amount', 'bank', 'by whom\nwhy'];
  return tableOf(
    head,
    listed.map((one) => [
      `${one.at.toISOString()}\n${one.exceptionId}\n${one.reference ?? ''}`,
      `${inMoney(one)}\n${WORDS[one.entry ?? 'none']}`,
      shortName(names.get(one.bankId) ?? one.bankId),
      [one.writtenOffBy, one.reason].filter(Boolean).join('\n'),
    ]),
  );
}
