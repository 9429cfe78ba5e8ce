import type { Command } from 'commander';
import { findEntity } from '../database/entity/create-entity';
import { forecast } from '../database/recurring/forecast-billings';
import { FORECAST_DAYS } from '../domain/recurring/forecast';
import { inMoney, shownSum } from '../domain/money';
import { recurringRules } from '../settings/config';
import { onEngine, takingJson, unknownEntity } from './command';
import { anyRing } from './engine';
import { tableOf } from './output';

export function fill(command: Command): void {
  takingJson(command)
    .option('--merchant <id>', 'only those of this merchant')
    .action(
      onEngine(async (db, config, { merchant: merchantId }: { merchant?: string }) => {
        if (merchantId !== undefined && (await findEntity(db, merchantId))?.type !== 'merchant')
          throw unknownEntity('merchant');
        const window = { days: FORECAST_DAYS, deadline: Infinity };
        const lines = await forecast(db, recurringRules(config), { merchantId }, window);
        const rows = lines.map((line) => [line.date, line.count, inMoney(line)]);
        return {
          json: {
            days: lines.map(({ amount, ...line }) => ({ ...line, ...shownSum(amount, line.currency) })),
          },
          text: rows.length > 0 ? tableOf(['day', 'charges', 'sum'], rows) : 'No schedule will charge then.',
        };
      }, anyRing),
    );
}
