import { quoted } from '#duckdb';
import type { RunRecord } from './run-record.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Calendar days of the registry (design 9): all its zone-less times are of this zone. */
const ZONE_MS = 3 * HOUR_MS;

/** Where the item stands, as far as that is known, containers are compared. */
const isCompared = ({ containers }: RunRecord['settings']): string =>
  typeof containers === 'boolean'
    ? String(containers)
    : `list_contains([${containers.map(quoted).join(', ')}]::VARCHAR[], coalesce(place, r_place, g_place, ''))`;

/** A condition of a rule with the run's moment and settings in it. */
export function withValues(when: string, { moment, settings, learntAfter }: RunRecord): string {
  const at = Date.parse(moment);
  const transit = Object.entries(settings.transitDaysOf).map(
    ([status, days]) => `WHEN ${quoted(status)} THEN ${days * DAY_MS}`,
  );
  const values: Record<string, string> = {
    $moment: String(at),
    $tillSales: String(settings.tillSalesDays * DAY_MS),
    $inFlight: String(settings.inFlightHours * HOUR_MS),
    $stale: String(settings.staleHours * HOUR_MS),
    $hung: settings.hungDays === null ? 'NULL' : String(settings.hungDays * DAY_MS),
    $day: `DATE ${quoted(new Date(at + ZONE_MS).toISOString().slice(0, 10))}`,
    $containers: isCompared(settings),
    $learntAfterStock: learntAfter?.stock ?? 'NULL',
    $learntAfterAnswers: learntAfter?.registry ?? 'NULL',
    $owner: settings.owner === null ? 'NULL' : quoted(settings.owner),
    $transit:
      transit.length === 0
        ? String(settings.transitDays * DAY_MS)
        : `(CASE g_status ${transit.join(' ')} ELSE ${settings.transitDays * DAY_MS} END)`,
  };
  return when.replace(/\$[a-zA-Z]+/g, (name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`a rule speaks of ${name}, which no run has`);
    return value;
  });
}
