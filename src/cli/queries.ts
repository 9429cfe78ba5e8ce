import type { Command } from 'commander';
import type { Config } from '../settings/config';
import { OperatorError } from '../domain/failures';
import { accept, refuse } from '../domain/parsed';
import { operatorQueries } from '../temporal/operator-queries';
import { reporting, takingJson } from './command';
import { engineOf } from './engine';
import { parsedOption } from './options';
import { factsOf } from './output';
import { workflowsUrl } from './temporal';

export function fill(command: Command): void {
  takingJson(command)
    .addOption(
      parsedOption('--ui <url>', 'address of the Temporal UI, where it is not that of npm start', readUrl),
    )
    .action(
      reporting((config, { ui = engineOf(config)?.temporalUiUrl }: { ui?: string }) => {
        if (ui === undefined) throw new OperatorError(UNKNOWN_UI);
        const links = linksOf(config, ui);
        return Promise.resolve({ json: Object.fromEntries(links), text: factsOf(links) });
      }),
    );
}

const UNKNOWN_UI =
  'No "npm start" runs here, so name the Temporal UI: --ui https://temporal.example.com, say.';

const readUrl = (given: string) =>
  /^https?:\/\//.test(given) && URL.canParse(given)
    ? accept(given.replace(/\/$/, ''))
    : refuse('is no address: write it as in https://temporal.example.com');

function linksOf(config: Config, ui: string): [string, string][] {
  const queries = operatorQueries(new Date(), config.NETWORK_TIMEZONE);
  return Object.entries(queries).map(([words, query]) => [
    words,
    `${workflowsUrl(config, ui)}?${new URLSearchParams({ query }).toString()}`,
  ]);
}
