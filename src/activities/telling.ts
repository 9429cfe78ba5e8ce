/**
 * How a look at the database ends: what it found or decided is told to those concerned before it returns. One local
 * activity does both, for each is an event in a history that a charge pays for.
 */
export interface Told {
  told: true;
}

/** Makes the first attempt of each webhook that this workflow's work has announced. */
export type Tell = (carrier: string) => Promise<unknown>;

/**
 * @param carrier id of the workflow that looks; the webhooks that its work announced wait for it
 * @returns what the look found, as it was before the telling
 */
export async function telling<Found>(
  tell: Tell,
  carrier: string,
  look: () => Promise<Found>,
): Promise<Found & Told> {
  const found = await look();
  await tell(carrier);
  return { ...found, told: true };
}
