import { sql, type Fragment } from '../pool/statement';

/**
 * SQL for the first moment of a calendar day in the zone. If clocks are set back from 01:00 to
 * 00:00 (Azores, Havana), there are two midnights. `AT TIME ZONE` takes the second, but counts the
 * hour before it to the new day. Postgres computes it, not the calendar in our code, for settlement
 * goes by Postgres' days: nothing may settle on a day that is over.
 *
 * @param day SQL of a date in the zone
 */
export const dayBegin = (day: Fragment, timeZone: string) => sql`(
  SELECT min(moment) FROM unnest(ARRAY[interval '0', interval '1 hour']) AS set_back,
    CAST(${day} AS timestamp) AS midnight, CAST(midnight AT TIME ZONE ${timeZone} - set_back AS timestamptz) AS moment
  WHERE moment AT TIME ZONE ${timeZone} >= midnight)`;
