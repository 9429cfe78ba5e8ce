import { InvalidArgumentError, Option, type Command } from 'commander';
import { recurringRules } from '../config';
import { forecastByParties, successRate, type PartiesForecastLine } from '../database/recurring/forecast';
import type { Executor } from '../database/connection';
import { counted } from '../domain/words/counted';
import { FORECAST_DAYS, FORECAST_DAYS_MAX } from '../domain/recurring/forecast';
import { Failure } from '../domain/failures';
import { shownSum } from '../domain/money';
import { command, CommandError, onEngine } from './command';
import { anyRing } from './engine';
import { progress } from './progress';
import { tableOf } from './table';

/** `assent forecast`: what schedules will charge, and how much of it may be expected to be paid. */

interface Wanted {
  days: number;
  merchant?: string;
  bank?: string;
}

export function addForecastCommand(program: Command): void {
  command(program, 'forecast', 'what schedules will charge per day, merchant and bank')
    .addOption(
      new Option('--days <days>', `from today on, 1 to ${FORECAST_DAYS_MAX}`)
        .argParser(readDays)
        .default(FORECAST_DAYS),
    )
    .option('--merchant <id>', 'only of this merchant')
    .option('--bank <id>', 'only of the customers of this bank')
    .action(
      onEngine(async ({ db }, config, { days, merchant: merchantId, bank: bankId }: Wanted) => {
        const lines = await reckoned(
          forecastByParties(db, recurringRules(config), { merchantId, bankId }, days, (done) =>
            progress.say(`${counted(done, 'schedules')} reckoned`),
          ),
        );
        const rates = await ratesOf(db, lines);
        const forecast = lines.map((line) => ({
          date: line.date,
          merchantId: line.merchantId,
          bankId: line.bankId,
          count: line.count,
          ...shownSum(line.amount, line.currency),
          currency: line.currency,
          successRate: rates.get(pairOf(line)) ?? null,
        }));
        return { json: { timezone: config.NETWORK_TIMEZONE, days: forecast }, text: forecastTable(forecast) };
      }, anyRing),
    );
}

function readDays(text: string): number {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= FORECAST_DAYS_MAX) return days;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${FORECAST_DAYS_MAX}.`);
}

/** @throws CommandError in place of a refusal */
async function reckoned<Lines>(work: Promise<Lines>): Promise<Lines> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new CommandError('There is more than can be told: narrow it with --days, --merchant or --bank.', {
      cause: error,
    });
  }
}

type Pair = Pick<PartiesForecastLine, 'merchantId' | 'bankId'>;

const pairOf = ({ merchantId, bankId }: Pair) => `${merchantId} ${bankId}`;

async function ratesOf(db: Executor, lines: Pair[]): Promise<Map<string, number | null>> {
  const rates = new Map<string, number | null>();
  const of = new Set(lines.map(pairOf)).size;
  for (const line of lines) {
    const pair = pairOf(line);
    if (rates.has(pair)) continue;
    rates.set(pair, await successRate(db, { merchantId: line.merchantId, bankId: line.bankId }));
    progress.part(rates.size, of, `what was paid lately: ${rates.size} of ${of} merchants and banks`);
  }
  return rates;
}

interface ForecastLine extends Pair {
  date: string;
  count: number;
  amount: number;
  currency: string;
  exact?: string;
  successRate: number | null;
}

function forecastTable(lines: ForecastLine[]): string {
  if (lines.length === 0) return 'No schedule will charge in this time.';
  const head = ['date', 'merchant', 'bank', 'charges', 'amount', 'paid in the last 3 months'];
  const table = lines.map((one) => [
    one.date,
    one.merchantId,
    one.bankId,
    one.count,
    `${one.exact ?? one.amount} ${one.currency}`,
    one.successRate === null ? 'none ended' : `${Math.floor(one.successRate * 100)} %`,
  ]);
  return tableOf(head, table);
}
