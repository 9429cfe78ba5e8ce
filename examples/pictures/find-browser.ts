import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { OperatorError } from '../../src/domain/failures';

/**
 * Playwright drives these without a build of its own. Chromium without windows takes a quarter of
 * the processor.
 */
const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await findBrowser(),
    // It sees no page but those of our own servers, and root has no sandbox.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    // Its own would end this process before it has stopped the engine that it has started.
    handleSIGINT: false,
  });
}

/** @throws OperatorError where there is none, saying what to install */
export async function findBrowser(): Promise<string> {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  for (const file of BROWSERS.flatMap((name) => folders.map((folder) => path.join(folder, name)))) {
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return file;
  }
  throw new OperatorError(
    `No browser was found: install Chromium or Google Chrome, so that "chromium" or "google-chrome" is on the PATH.`,
  );
}
