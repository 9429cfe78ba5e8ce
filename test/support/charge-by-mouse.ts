import type { Page } from 'playwright-core';

/** The buttons that the first steps on the page ask for. */
const STEPS = ['Charge once', 'Approve'];

/**
 * Presses what the first steps of the sandbox ask for, until its first charge is paid.
 *
 * @returns how many clicks it took
 */
export async function chargeByMouse(page: Page): Promise<number> {
  const firstSteps = page.getByRole('navigation', { name: 'First steps' });
  for (const button of STEPS) {
    await firstSteps.getByText(`“${button}”`).waitFor();
    await page.getByRole('button', { name: button, exact: true }).click();
  }
  const charges = page.getByRole('region', { name: 'What was charged' });
  await charges.getByText('paid').first().waitFor();
  return STEPS.length;
}
