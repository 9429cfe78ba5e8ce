/**
 * The attempt at a billing that begins now, if any; each begins once. Workflows race, so SQL
 * decides, in `database/recurring/charged-once.ts`.
 *
 * @param from null for a billing that its bank has in hand, or that has ended
 */
export const attemptNow = (attempts: number, from: number | null, now: number): number | undefined =>
  from !== null && now >= from ? attempts + 1 : undefined;
