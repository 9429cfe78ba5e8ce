import type { Command } from 'commander';
import { listWriteOffs } from '../database/ledger/list-write-offs';
import { entityNames } from '../database/entity/create-entity';
import { firstOfMonth } from '../domain/calendar';
import { inMoney } from '../domain/money';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { monthOption } from './options';
import { shortName, tableOf, withSum } from './output';

/** More than people write off in a month; they are laid out whole in memory. */
const LISTED_MAX = 10_000;

const WORDS = { write_off: 'borne by the network', write_off_return: 'taken back', none: 'no entry' };

export function fill(command: Command): void {
  takingJson(command)
    .addOption(monthOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, { month }: { month: string }) => {
        const writeOffs = await listWriteOffs(db, firstOfMonth(month), LISTED_MAX);
        const names = await entityNames(db, [...new Set(writeOffs.map(({ bankId }) => bankId))]);
        const rows = writeOffs.map((one) => [
          `${one.at.toISOString()}\n${one.exceptionId}\n${one.reference ?? ''}`,
          `${inMoney(one)}\n${WORDS[one.entry ?? 'none']}`,
          shortName(names.get(one.bankId) ?? one.bankId),
          [one.writtenOffBy, one.reason].filter(Boolean).join('\n'),
        ]);
        const head = ['when\nexception, reference', 'amount', 'bank', 'by whom\nwhy'];
        const cut = rows.length === LISTED_MAX;
        const table = `${tableOf(head, rows)}${cut ? `\nThese are the first ${LISTED_MAX}.` : ''}`;
        return {
          json: { month, writeOffs: writeOffs.map(withSum), cut },
          text: rows.length > 0 ? table : `Nothing was written off in ${month}.`,
        };
      }, anyRing),
    );
}
