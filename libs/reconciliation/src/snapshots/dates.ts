import { quoted } from '#duckdb';
import type { Column } from './kinds.js';
import { DATE_FORMS, type Mapping } from './mapping.js';

/** Seconds may be missing, and so may the first digit of the hour. */
const TIME = '[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?';
/** As ISO 8601 writes it, and PostgreSQL (`+03`). */
const ZONE = '(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-9]{2})?)';
/** Of a moment that is cast as it stands: it has seconds. */
const DAY_TO_MINUTE = '[0-9/-]+[T ][0-9]+:[0-9]+:';

type Years = Pick<Column, 'recent'>;

/** DuckDB takes 26 for the year 26. */
const yearOf = ({ recent }: Years): string => (recent === true ? '(?:199[0-9]|[2-9][0-9]{3})' : '[0-9]{4}');

/** What each of {@link DATE_FORMS} looks like, then `rest` to the end of the cell. */
function dayOf(cell: string, rest: string, { years, dates }: { years: Years; dates: Mapping['dates'] }): string {
  const year = yearOf(years);
  const day = `${year}-[0-9]{1,2}-[0-9]{1,2}|${year}[0-9]{4}|[0-9]{1,2}[./][0-9]{1,2}[./]${year}`;
  const forms = dates.map((form) => quoted(DATE_FORMS[form])).join(', ');
  return `try_strptime(regexp_extract(${cell}, '^(${day})${rest}$', 1), [${forms}])::DATE`;
}

/** A date as an expression of SQL, NULL where the cell is none. A time of day behind it is left out. */
export const dateOf = (cell: string, years: Years, { dates }: Pick<Mapping, 'dates'>): string =>
  dayOf(cell, '(?:[T ][0-9:.,Z+-]*)?', { years, dates });

/**
 * The same for a moment. Without a zone in the cell it is that of the mapping. A date alone is its first moment. Most
 * files have moments as ISO 8601 writes them: these are cast as they stand, for there may be one in each row.
 */
export function instantOf(cell: string, years: Years, { zone, dates }: Pick<Mapping, 'zone' | 'dates'>): string {
  const here = quoted(zone);
  // ISO 8601 without seconds is read whatever the forms of dates are, as it is with seconds.
  const day = dayOf(cell, `[T ]${TIME}${ZONE}?`, { years, dates: [...dates, 'YYYY-MM-DD'] });
  const time = `try_cast(regexp_extract(${cell}, '[T ](${TIME})', 1) AS TIME)`;
  const told = `coalesce(nullif(regexp_extract(${cell}, ':[0-9.]+(${ZONE})$', 1), ''), ${here})`;
  return `try_cast(CASE
    WHEN regexp_matches(${cell}, '^${yearOf(years)}[-/]${DAY_TO_MINUTE}')
      THEN CASE WHEN regexp_matches(${cell}, '[0-9]${ZONE}$') THEN ${cell} ELSE concat(${cell}, ${here}) END
    WHEN length(${cell}) <= 10 THEN concat(${dateOf(cell, years, { dates })}::VARCHAR, ' 00:00:00', ${here})
    ELSE concat((${day} + ${time})::VARCHAR, ${told})
    END AS TIMESTAMPTZ)`;
}
