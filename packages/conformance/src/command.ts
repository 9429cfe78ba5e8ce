import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { Config } from '../../../src/settings/config';
import { parseWebUrl, webhookSchemes } from '../../../src/domain/contact';
import { OperatorError } from '../../../src/domain/failures';
import { reporting, takingJson } from '../../../src/cli/command';
import { runConformance, type Verdict } from './run';
import { accepted } from '../../../src/cli/options';

/**
 * `assent conformance`: plays the network to the webhook receiver of a bank, faults included, and
 * reports the faults that the bank mishandles. No engine is needed.
 */

interface Options {
  webhookUrl: string;
  clientId: string;
  listen: string;
  customerId?: string;
  lookupId?: string;
  patience: string;
  app?: boolean;
  json?: boolean;
}

/** Longest `--patience`: a longer wait is not for a program. */
const ANSWER_TIMEOUT_MAX_S = 600;
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

export function fill(command: Command): void {
  takingJson(command)
    .requiredOption('--webhook-url <url>', 'where the bank takes webhooks')
    .requiredOption('--client-id <id>', 'with which the bank asks for a token')
    .addOption(
      new Option(
        '--listen <host:port>',
        'where the network is played; the bank sends its answers there',
      ).default('127.0.0.1:3900'),
    )
    .option('--customer-id <id>', 'a customer whom the bank knows, and who may be billed')
    .option('--lookup-id <phrase>', 'the same customer’s lookupID')
    .addOption(
      new Option('--patience <seconds>', 'how long the bank has for each of its answers').default('15'),
    )
    .option('--app', 'also check the bank’s app: says what its customer is to do there, and waits for it')
    .addHelpText('after', SECRETS)
    .action(
      reporting(async (config, options: Options) => {
        const verdicts = await runConformance({
          ...checked(config, options),
          clientSecret: given(process.env, 'CLIENT_SECRET'),
          webhookSecret: webhookSecret(given(process.env, 'WEBHOOK_SECRET')),
          app: options.app ? ({ words }) => void process.stderr.write(`In the app: ${words}.\n`) : undefined,
          progress: (title) => {
            if (options.json !== true && process.stderr.isTTY) process.stderr.write(`  … ${title}\n`);
          },
        });
        const passed = verdicts.every((verdict) => verdict.passed);
        if (!passed) process.exitCode = 1;
        return { json: { passed, checks: verdicts }, text: inWords(verdicts) };
      }),
    );
}

const SECRETS = `
The bank's secrets are read from CLIENT_SECRET and WEBHOOK_SECRET. They may be any that the bank is
set to while it is tried; a webhook secret is whsec_ and the base64 of 32 bytes. Exit code 0: all
passes; 1: something does not.`;

/** @throws OperatorError for scenarios that cannot be played, or not here */
function checked(
  config: Config,
  { webhookUrl: url, clientId, listen, patience, customerId, lookupId }: Options,
) {
  if (config.ASSENT_MODE === 'production') {
    throw new OperatorError(
      'not in production: it sends webhooks of charges that there are not. Play it elsewhere.',
    );
  }
  const address = /^([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):(\d{1,5})$/.exec(listen);
  if (!address || Number(address[2]) > 65_535) throw new OperatorError('--listen takes host:port');
  const answerTimeoutS = z.coerce.number().min(1).max(ANSWER_TIMEOUT_MAX_S).safeParse(patience);
  if (!answerTimeoutS.success)
    throw new OperatorError(`--patience takes 1 to ${ANSWER_TIMEOUT_MAX_S} seconds`);
  return {
    webhookUrl: accepted('--webhook-url', parseWebUrl(webhookSchemes(config.ALLOW_PRIVATE_WEBHOOKS), url)),
    clientId,
    listen: { host: (address[1] ?? '').replace(/^\[(.*)\]$/, '$1'), port: Number(address[2]) },
    customer: { customerId, lookupID: lookupId },
    allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS,
    answerTimeoutMs: answerTimeoutS.data * 1000,
  };
}

/** A secret is never on the command line, which every user of the machine can read. */
function given(environment: NodeJS.ProcessEnv, secret: string): string {
  const value = environment[secret];
  if (!value) throw new OperatorError(`set ${secret} to that of the bank`);
  return value;
}

/** @throws OperatorError, which does not repeat the secret */
function webhookSecret(text: string): string {
  if (WEBHOOK_SECRET.test(text)) return text;
  throw new OperatorError('WEBHOOK_SECRET is not whsec_ and the base64 of 32 bytes');
}

function inWords(verdicts: readonly Verdict[]): string {
  const lines = verdicts.map(({ title, passed, problem }) =>
    passed ? `passes  ${title}` : `FAILS   ${title}\n        ${problem}`,
  );
  const failed = verdicts.filter(({ passed }) => !passed).length;
  const end = failed === 0 ? `All ${verdicts.length} pass.` : `${failed} of ${verdicts.length} fail.`;
  return [...lines, '', end].join('\n');
}
