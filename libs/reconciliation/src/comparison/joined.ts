import { quoted, type Duck } from '#duckdb';
import { CONTENT_OF, openContents } from './contents.js';
import { agrees, columnsOfAgreement, WRONG_DIGIT } from './agreeing.js';
import { loadRefused } from './refused-rows.js';
import type { Leg } from './rules.js';
import type { RunRecord } from './run-record.js';
import { STANDINGS } from './statuses.js';

/** Columns of each leg, as a finding shows them. An absent leg has them as NULL. */
export const LEG_COLUMNS: Record<Leg, Record<string, [from: string, type: string]>> = {
  stock: {
    s_place: ['place', 'VARCHAR'],
    s_state: ['state', 'VARCHAR'],
    s_series: ['series', 'VARCHAR'],
    s_expiry: ['expiry', 'DATE'],
    s_funding: ['funding', 'VARCHAR'],
    s_part: ['part', 'VARCHAR'],
    s_owner: ['owner', 'VARCHAR'],
    s_moment: ['moment', 'BIGINT'],
    copies: ['copies', 'INTEGER'],
  },
  record: {
    r_status: ['status', 'VARCHAR'],
    r_place: ['place', 'VARCHAR'],
    r_container: ['container', 'VARCHAR'],
    r_known_from: ['known_from', 'BIGINT'],
    r_uncertain: ['uncertain', 'BOOLEAN'],
    r_part: ['part_left', 'VARCHAR'],
  },
  registry: {
    answer: ['answer', 'VARCHAR'],
    g_status: ['status', 'VARCHAR'],
    g_place: ['place', 'VARCHAR'],
    g_container: ['container', 'VARCHAR'],
    g_series: ['series', 'VARCHAR'],
    g_expiry: ['expiry', 'DATE'],
    g_funding: ['funding', 'VARCHAR'],
    g_owner: ['owner', 'VARCHAR'],
    moved_at: ['moved_at', 'BIGINT'],
    g_moment: ['moment', 'BIGINT'],
  },
  disposals: {
    d_place: ['place', 'VARCHAR'],
    d_receipt: ['receipt', 'VARCHAR'],
    d_moment: ['moment', 'BIGINT'],
  },
  documents: {
    x_standing: ['standing', 'VARCHAR'],
    x_document: ['document', 'VARCHAR'],
    x_position: ['position', 'BIGINT'],
    x_moment: ['moment', 'BIGINT'],
  },
};

const OF_DOCUMENTS = Object.keys(LEG_COLUMNS.documents);
/** What names the container of an item, names the item. The newer of two documents counts. */
const COLUMNS = Object.values(LEG_COLUMNS)
  .flatMap((columns) => Object.keys(columns))
  .map((name) =>
    OF_DOCUMENTS.includes(name)
      ? `CASE WHEN xc.x_position > x.x_position OR x.x_position IS NULL THEN xc.${name} ELSE x.${name} END AS ${name}`
      : name,
  )
  .join(', ');

/** Containers within containers that are followed. */
const MOST_LEVELS = 10;

/** Containers that stand in stock. `box`: the one that the stock names. */
export const HELD_IN = '(container VARCHAR, state VARCHAR, place VARCHAR, box VARCHAR)';

/** What all buckets of a run need: standings of statuses, and which containers stand in stock, through others too. */
export async function openRun(duck: Duck, { legs, containers }: RunRecord): Promise<void> {
  const values = [...STANDINGS].map(([status, standing]) => `(${quoted(status)}, ${quoted(standing)})`).join(', ');
  await duck.run(`CREATE TABLE standing AS SELECT * FROM (VALUES ${values}) t(status, standing);
    CREATE TABLE held_in ${HELD_IN};
    CREATE TABLE content_of ${CONTENT_OF};
    CREATE TABLE telling AS SELECT ${
      legs.registry === undefined
        ? 'false'
        : `EXISTS (SELECT 1 FROM ${of(legs.registry.files)} WHERE container IS NOT NULL)`
    } AS tells_containers;
    CREATE TABLE document_of_container AS SELECT item AS sscc, * EXCLUDE (item)
      FROM ${legOf('documents', legs.documents?.files)} WHERE length(item) = 18`);
  await loadRefused(duck, legs);
  if (legs.stock === undefined || !(containers || legs.stock.refused !== undefined)) return;
  await duck.run(`INSERT INTO held_in SELECT item, state, place, item FROM ${of(legs.stock.files)}
    WHERE length(item) = 18`);
  if (legs.registry === undefined) return;
  await duck.run(`CREATE TABLE nested AS SELECT item, container FROM ${of(legs.registry.files)}
    WHERE length(item) = 18 AND container IS NOT NULL`);
  for (let level = 0; level < MOST_LEVELS; level += 1)
    await duck.run(`INSERT INTO held_in SELECT DISTINCT n.item, h.state, h.place, h.box FROM nested n JOIN held_in h
        ON n.container = h.container ANTI JOIN held_in o ON n.item = o.container;
      INSERT INTO refused_in SELECT DISTINCT n.item FROM nested n JOIN refused_in r ON n.container = r.item
        ANTI JOIN refused_in o ON n.item = o.item`);
  await openContents(duck, { legs, levels: MOST_LEVELS });
}

const of = (files: readonly string[]): string => `read_parquet([${files.map(quoted).join(', ')}])`;

/** The rows of a leg in some files. `runs`: of these alone; `more`: columns of a condition. */
function legOf(
  leg: Leg,
  files: readonly string[] | undefined,
  { runs, more = '' }: { runs?: Runs | undefined; more?: string } = {},
): string {
  const columns = Object.entries(LEG_COLUMNS[leg]);
  const named = columns.map(([name, [from, type]]) => `${files === undefined ? 'NULL' : from}::${type} AS ${name}`);
  if (files === undefined) return `(SELECT NULL::VARCHAR AS item, ${named.join(', ')}${more} LIMIT 0)`;
  const among = runs === undefined ? '' : ` WHERE run BETWEEN ${runs.first} AND ${runs.last}`;
  return `(SELECT item, ${named.join(', ')}${more} FROM ${of(files)}${among})`;
}

/** Cyrillic letters that look like Latin ones, in a series. */
const LOOK_ALIKES = ['АВЕКМНОРСТУХаеорсухЗ', 'ABEKMHOPCTYXaeopcyx3'] as const;
const latin = (text: string): string => `upper(translate(${text}, '${LOOK_ALIKES[0]}', '${LOOK_ALIKES[1]}'))`;

/** What stock says of the container that holds an item: as the registry tells, or else our record. */
const HOLDERS = `LEFT JOIN held_in hg ON hg.container = g_container LEFT JOIN held_in hr ON hr.container = r_container`;
const HELD = `hg.container IS NOT NULL OR hr.container IS NOT NULL AS held, coalesce(hg.state, hr.state) AS h_state,
      coalesce(hg.place, hr.place) AS h_place`;
/** It is not here, for the row of the stock that names it, or what it is in, was refused. */
const REFUSED = `NOT (in_stock OR held) AND (item IN (FROM refused_in)
      OR coalesce(g_container IN (FROM refused_in), false) OR coalesce(r_container IN (FROM refused_in), false))`;
const NOT_HELD = 'false AS held, NULL::VARCHAR AS h_state, NULL::VARCHAR AS h_place';

/** First two digits of an item's MD5, as numbers: files are sorted by them. */
interface Runs {
  first: number;
  last: number;
}

/** What is joined at a time: some buckets, or of one the items whose MD5 begins with some digits. */
export interface Slice {
  buckets: readonly number[];
  runs?: Runs;
}

/** Files of a leg; undefined where it is absent. */
export const filesOf = (
  { legs }: Pick<RunRecord, 'legs'>,
  leg: Leg,
  buckets: readonly number[],
): string[] | undefined => legs[leg]?.files.filter((_, bucket) => buckets.includes(bucket));

/** The items of a slice about which sides do not agree; undefined where sides cannot be told to agree. */
export function differing(run: RunRecord, { buckets, runs }: Slice): string | undefined {
  if (run.legs.registry === undefined) return undefined;
  const legs = (['stock', 'registry', 'record', 'disposals'] as const).map((leg) =>
    legOf(leg, filesOf(run, leg, buckets), { runs, more: columnsOfAgreement(leg, run) }),
  );
  return `SELECT item FROM ${legs.reduce((one, other) => `${one} FULL JOIN ${other} USING (item)`)}
    WHERE NOT ${agrees(run)}`;
}

/**
 * The joined rows of a slice: the columns over which rules speak. Rows of stock that disagree count as sellable.
 * `ours`: record or registry has it at a place of the stock; `disposal_ours`: so, or the ERP has disposed of it there.
 * `among`: a table of the items that are looked at; default: all.
 */
export function joined(run: RunRecord, { buckets, runs }: Slice, among?: string): string {
  const legIn = (leg: Leg): string => {
    const rows = legOf(leg, filesOf(run, leg, buckets), { runs });
    return among === undefined ? rows : `(SELECT * FROM ${rows} SEMI JOIN ${among} USING (item))`;
  };
  const places = run.places === null ? undefined : run.places.map(quoted).join(', ');
  const isOf = (place: string): string =>
    places === undefined ? 'true' : places === '' ? 'false' : `${place} IN (${places})`;
  return `SELECT *, in_stock OR held AS here, ${run.legs.stock?.refused === undefined ? 'false' : REFUSED} AS refused,
      coalesce(s_place, h_place) AS place,
      CASE WHEN in_stock THEN coalesce(s_state, 'sellable') WHEN held THEN coalesce(h_state, 'sellable') END AS state,
      covered OR of_record AS ours, of_disposal OR of_record OR coalesce(${isOf('d_place')}, false) AS disposal_ours
    FROM (SELECT item, ${COLUMNS}, tells_containers,
      c_place, c_packs, c_recorded, c_differing, copies IS NOT NULL AS in_stock, r_known_from IS NOT NULL AS in_record,
      answer IS NOT NULL AS in_registry, d_moment IS NOT NULL AS disposed, coalesce(r_uncertain, false) AS uncertain,
      rs.standing AS r_standing, gs.standing AS g_standing,
      ${latin('s_series')} AS s_latin, ${latin('g_series')} AS g_latin,
      ${run.wrongCheckDigits ? WRONG_DIGIT : 'false'} AS wrong_digit,
      ${run.containers ? HELD : NOT_HELD}, coalesce(${isOf('coalesce(g_place, r_place)')}, true) AS covered,
      coalesce(${isOf('coalesce(g_place, r_place, d_place)')}, true) AS of_disposal,
      coalesce(${isOf('r_place')}, false) AS of_record,
      (${isOf('coalesce(g_place, r_place)')}) IS NOT NULL AS placed
    FROM ${legIn('stock')} FULL JOIN ${legIn('registry')} USING (item) FULL JOIN ${legIn('record')} USING (item)
      FULL JOIN ${legIn('disposals')} USING (item)
      LEFT JOIN ${legIn('documents')} x USING (item)
      LEFT JOIN content_of c ON c.sscc = item
      LEFT JOIN document_of_container xc ON xc.sscc = coalesce(r_container, g_container)
      LEFT JOIN standing rs ON rs.status = r_status LEFT JOIN standing gs ON gs.status = g_status
      ${run.containers ? HOLDERS : ''} CROSS JOIN telling)`;
}
