import type { Pool } from '#postgres';

/** A document as the projection of histories writes it. */
export interface DocumentOfLife {
  knownFrom: number;
  knownTo?: number | undefined;
  orderedAt: number;
  recordedAt: number;
  /** Names the operation at the registry: the first position of it, in a request_id or an id of the registry. */
  operation: number;
  docType: number;
  subject: string;
  counterparty: string;
  /** The operation that it recalls. */
  recalls?: string | undefined;
  /** It is a notification of the operation. */
  isTold?: true;
  effects: Effect[];
  /** Effect and item of each row. */
  rows: [number, string][];
}

type Told = Pick<DocumentOfLife, 'effects' | 'rows'> & { docType?: number; recalls?: string };
type Kind = () => Told;

interface Effect {
  result: 'applied' | 'refused' | 'undetermined';
  status?: string;
  place?: string;
  containment?: 'packed' | 'taken_out' | 'opened' | 'opened_all';
  container?: string;
  part?: string;
}

const DAY_MS = 86_400_000;
const BEGIN_MS = Date.parse('2026-03-01T08:00:00Z');
export const placeOf = (n: number): string => `0000000000046${n}`;
export const packOf = (n: number): string => `04607001770001${String(n).padStart(13, 'A')}`;
export const boxOf = (n: number): string => `460700177${String(n).padStart(9, '0')}`;

/** The same numbers in [0, 1) for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface LivesOptions {
  packs: number;
  boxes: number;
  documents: number;
  days: number;
  /**
   * Without suspensions, moves of whole places and documents of several effects; recalls, transfers and sales in parts
   * come in stories alone. So most packs are like real ones, and few are unusual for more than one reason.
   */
  plain?: boolean;
  /**
   * What moves a whole place is a 432: else it is any document, also a step of a transfer, and is recalled. And no move
   * counts no longer of which the receiving place was told.
   */
  onlyReal?: boolean;
  /** Queries and reservations of numbers in between, also of packs that nothing else names. All else stays as it is. */
  asked?: boolean;
}

/**
 * Random lives of packs and containers: packed, nested and in rings, moved by themselves, in containers and with their
 * place, taken out, opened, suspended, sold in parts, recalled, transferred and taken back; documents that come late,
 * in one moment, are refused, in doubt, revised and name a pack beside its container or twice.
 */
export function livesOf(seed: number, options: LivesOptions): DocumentOfLife[] {
  const { documents, days, plain = false } = options;
  const random = randomOf(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const next = tellerOf(random, options);
  const told: DocumentOfLife[] = [];
  for (let n = 0; n < documents; n += 1) {
    const knownFrom = 10 * (n + 1);
    const recordedAt = BEGIN_MS + Math.floor((n * days * DAY_MS) / documents);
    const late = random() < 0.2 ? below(3 * DAY_MS) : 0;
    // Acceptance in whole minutes, so that some are of one moment.
    const orderedAt = Math.floor((recordedAt - late) / 600_000) * 600_000;
    const revised = random() < 0.06 ? told[below(told.length)] : undefined;
    if (revised !== undefined && revised.knownTo === undefined) {
      revised.knownTo = knownFrom;
      const effects = revised.effects.map((one): Effect => (random() < 0.5 ? one : { result: 'refused' }));
      told.push({ ...revised, knownTo: undefined, knownFrom, recordedAt, effects });
    } else {
      const { document, inStory } = next(told);
      // A story keeps its order: its documents are not late.
      const moment = { knownFrom, recordedAt, orderedAt: inStory ? recordedAt : orderedAt };
      const one: DocumentOfLife = { ...sides(random, plain), operation: knownFrom, ...moment, ...document };
      told.push(one);
      // The receiving place of a move is told of it.
      if (one.docType === 431 && random() < 0.2)
        told.push({ ...one, knownFrom: knownFrom + 3, docType: 629, isTold: true });
    }
    if (random() < 0.03) closeAlone(told[below(told.length)], knownFrom + 5, { told, ...options });
  }
  return [...told, ...queriesOf(told, randomOf(seed + 1), options)];
}

/** Packs that queries alone name: those behind the others. */
export const ONLY_ASKED = 3;

/** Queries about packs and containers, and reservations of numbers, behind some documents: also late or closed. */
function queriesOf(
  told: readonly DocumentOfLife[],
  random: () => number,
  { packs, boxes, asked: areAsked }: LivesOptions,
): DocumentOfLife[] {
  if (areAsked !== true) return [];
  const below = (n: number): number => Math.floor(random() * n);
  return told.flatMap(({ knownFrom, recordedAt, isTold }): DocumentOfLife[] => {
    if (isTold === true || random() < 0.5) return [];
    const docType = [210, 210, 213, 220][below(4)] as number;
    const isOfPack = random() < 0.6;
    const items = isOfPack ? [packOf(below(packs + ONLY_ASKED))] : [boxOf(below(boxes)), boxOf(below(boxes))];
    const result = (['applied', 'applied', 'refused', 'undetermined'] as const)[below(4)] ?? 'applied';
    const asked = { knownFrom: knownFrom + 7, recordedAt, operation: knownFrom + 7, docType };
    const orderedAt = Math.floor((recordedAt - below(2) * below(3 * DAY_MS)) / 600_000) * 600_000;
    const sides = { subject: placeOf(below(4)), counterparty: placeOf(below(4)) };
    const knownTo = random() < 0.1 ? knownFrom + 10 * below(50) + 9 : undefined;
    return [{ ...asked, ...sides, ...same({ result }, items), orderedAt, knownTo }];
  });
}

/** Tells one document after another: parts of a story, recalls, and whatever comes. */
function tellerOf(
  random: () => number,
  options: LivesOptions,
): (told: readonly DocumentOfLife[]) => { document: Told; inStory: boolean } {
  const kinds = kindsOf(random, options);
  const tellings = tellingsOf(random, options);
  const story: Told[] = [];
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  return (told) => {
    if (story.length === 0 && random() < 0.12) story.push(...one(tellings)());
    const next = random() < 0.7 ? story.shift() : undefined;
    // Which operation it recalls is known only now.
    if (next?.docType === 250) return { document: recallOf(told.slice(-3), random), inStory: true };
    if (next !== undefined) return { document: next, inStory: true };
    return {
      document: random() < 0.05 && options.plain !== true ? recallOf(told, random) : one(kinds)(),
      inStory: false,
    };
  };
}

/** Types of documents of which the stored effects say all, and others that the fold must know. */
const PLAIN_TYPES = [415, 431, 702, 911, 313, 221] as const;
const ODD_TYPES = [415, 416, 417, 431, 605, 606, 607, 701, 250, 251] as const;

function sides(random: () => number, plain: boolean): Pick<DocumentOfLife, 'docType' | 'subject' | 'counterparty'> {
  const types = plain || random() < 0.6 ? PLAIN_TYPES : ODD_TYPES;
  const place = (): string => placeOf(Math.floor(random() * 4));
  return { docType: types[Math.floor(random() * types.length)] ?? 415, subject: place(), counterparty: place() };
}

/** Recalls one of the last operations; it names no items. */
function recallOf(told: readonly DocumentOfLife[], random: () => number): Told {
  const recallable = told.filter(({ docType }) => docType === 431 || docType === 313).slice(-8);
  const one = recallable[Math.floor(random() * recallable.length)];
  const by = random() < 0.5 ? 'r' : 's';
  return { docType: 250, recalls: `${by}-${one?.operation ?? 0}`, effects: [], rows: [] };
}

/** What happens in a row, so that it is not left to chance. */
function tellingsOf(random: () => number, { packs, boxes }: Pick<LivesOptions, 'packs' | 'boxes'>): (() => Told[])[] {
  const below = (n: number): number => Math.floor(random() * n);
  const place = (): string => placeOf(below(4));
  const packing = (container: string, items: string[]): Told =>
    same({ result: 'applied', containment: 'packed', container }, items);
  const moving = (items: string[]): Told =>
    same({ result: 'applied', status: 'in_circulation', place: place() }, items);
  const nested = (kind: 'opened' | 'opened_all'): Told[] => {
    const [pack, first] = [packOf(below(packs)), below(boxes)];
    const [box, pallet, outer] = [0, 1, 2].map((n) => boxOf((first + n) % boxes)) as [string, string, string];
    const opened = same({ result: 'applied', containment: kind }, [outer]);
    return [packing(box, [pack]), packing(pallet, [box]), packing(outer, [pallet]), moving([outer]), opened].concat([
      moving([pallet]),
      moving([box]),
    ]);
  };
  const transfer = (first: Told, type: number): Told[] => [
    { ...first, docType: type },
    { ...moving(first.rows.map(([, item]) => item)), docType: [607, 605, 606][below(3)] ?? 607 },
  ];
  const sale = (item: string, part: string): Told => ({
    ...same({ result: 'applied', status: 'in_partial_sale', containment: 'taken_out', part }, [item]),
    docType: 511,
  });
  return [
    () => nested('opened_all'),
    () => nested('opened'),
    () => transfer(moving([random() < 0.5 ? packOf(below(packs)) : boxOf(below(boxes))]), random() < 0.5 ? 415 : 416),
    () => [packOf(below(packs))].flatMap((pack) => [moving([pack]), sale(pack, '1/2'), sale(pack, '1/2')]),
    () => [
      { ...moving([packOf(below(packs))]), docType: 431 },
      { ...same({ result: 'refused' }, []), docType: 250 },
    ],
  ];
}

/** What documents do, with random items. */
function kindsOf(random: () => number, { packs, boxes, plain, onlyReal }: LivesOptions): [Kind, ...Kind[]] {
  const below = (n: number): number => Math.floor(random() * n);
  const some = <T>(most: number, one: () => T): T[] => Array.from({ length: 1 + below(most) }, one);
  const pack = (): string => packOf(below(packs));
  const box = (): string => boxOf(below(boxes));
  const unit = (): string => (random() < 0.5 ? pack() : box());
  const place = (): string => placeOf(below(4));
  const kinds: [Kind, ...Kind[]] = [
    () => same({ result: 'applied', containment: 'packed', container: box() }, some(4, pack)),
    () => same({ result: 'applied', containment: 'packed', container: box() }, some(2, unit)),
    () =>
      same({ result: 'applied', status: 'in_realization', place: place(), containment: 'taken_out' }, some(3, unit)),
    () => same({ result: 'applied', status: 'in_circulation', place: place(), containment: 'taken_out' }, some(3, box)),
    () => same({ result: 'applied', status: 'in_circulation', place: place() }, some(3, unit)),
    () => same({ result: 'applied', place: place(), containment: 'taken_out' }, some(3, unit)),
    () => same({ result: 'applied', containment: 'taken_out' }, some(2, unit)),
    () => same({ result: 'applied', containment: random() < 0.5 ? 'opened' : 'opened_all' }, some(2, box)),
    () => same({ result: 'applied', status: 'in_sale', containment: 'taken_out' }, some(2, pack)),
    () => same({ result: 'applied', place: '', status: 'moved_abroad', containment: 'taken_out' }, some(2, unit)),
    () => same({ result: 'undetermined' }, some(3, unit)),
    () => same({ result: 'refused' }, some(3, unit)),
  ];
  if (plain !== true)
    kinds.push(
      () => same({ result: 'applied', status: 'paused_circulation' }, some(3, unit)),
      () => same({ result: 'applied', status: 'confirm_return_paused', place: place() }, some(2, unit)),
      () => ({
        ...same({ result: 'applied', status: 'in_circulation', place: place() }, [place()]),
        ...(onlyReal === true ? { docType: 432 } : {}),
      }),
      () => mixed(place(), [pack(), box(), box(), unit()]),
      () => packedTwice(unit(), [box(), box()]),
      () => besideItsBox(place(), [unit(), box()]),
    );
  return kinds;
}

/** What turned out to be another document counts no longer, and nothing takes its place. */
function closeAlone(
  one: DocumentOfLife | undefined,
  at: number,
  { told, onlyReal }: { told: readonly DocumentOfLife[]; onlyReal?: boolean },
): void {
  if (one === undefined || one.knownTo !== undefined) return;
  if (onlyReal === true && told.some(({ isTold, operation }) => isTold === true && operation === one.operation)) return;
  one.knownTo = at;
}

const same = (effect: Effect, items: string[]): Told => ({
  effects: [effect],
  rows: items.map((item) => [0, item]),
});

/** A partial receipt: what it does to one item it does not do to the others, which may hold it. */
const mixed = (place: string, items: string[]): Told => ({
  effects: [
    { result: 'applied', status: 'in_realization', place, containment: 'taken_out' },
    { result: 'refused' },
    { result: 'undetermined' },
    { result: 'applied', status: 'in_arbitration' },
  ],
  rows: items.map((item, n) => [n, item]),
});

/** The item is refused, and goes with its container if it lies in that. */
const besideItsBox = (place: string, items: [string, string]): Told => ({
  effects: [{ result: 'refused' }, { result: 'applied', status: 'in_circulation', place }],
  rows: items.map((item, n) => [n, item]),
});

/** A document that contradicts itself: the last container counts. */
const packedTwice = (item: string, boxes: string[]): Told => ({
  effects: boxes.map((container) => ({ result: 'applied', containment: 'packed', container })),
  rows: boxes.map((_, n) => [n, item]),
});

/** Writes documents into the tables of movements, and says that the history has read so far. */
export async function writeLives(pool: Pool, told: DocumentOfLife[], upTo: number): Promise<void> {
  await writeDocuments(pool, told);
  const effects = told.flatMap(({ knownFrom, effects: all }) =>
    all.map((one, effect) => ({ knownFrom, effect, ...one })),
  );
  await pool.query(
    `INSERT INTO movement_effect (known_from, effect, result, status, place, containment, container, part)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[])`,
    (['knownFrom', 'effect', 'result', 'status', 'place', 'containment', 'container', 'part'] as const).map((name) =>
      effects.map((one) => one[name]),
    ),
  );
  const rows = told.flatMap(rowsOf);
  const columns = (['knownFrom', 'effect', 'ordinal', 'item'] as const).map((name) => rows.map((one) => one[name]));
  await pool.query(
    `INSERT INTO item_movement (known_from, effect, ordinal, item)
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::text[])`,
    columns,
  );
  await pool.query(
    `INSERT INTO containment (known_from, ordinal, child, parent)
     SELECT m.known_from, m.ordinal, m.item, e.container FROM item_movement m
     JOIN movement_effect e USING (known_from, effect) WHERE e.container IS NOT NULL AND known_from = ANY
       ($1::bigint[])`,
    [told.map((one) => one.knownFrom)],
  );
  await pool.query(
    `INSERT INTO place_move (position, place) SELECT DISTINCT known_from, item FROM item_movement
     WHERE length(item) = 14 ON CONFLICT DO NOTHING`,
  );
  await pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ('projection:sgtin-history', $1, now())
     ON CONFLICT (name) DO UPDATE SET position = excluded.position`,
    [upTo],
  );
}

async function writeDocuments(pool: Pool, told: DocumentOfLife[]): Promise<void> {
  const at = (ms: number): string => new Date(ms).toISOString();
  await pool.query(
    `INSERT INTO movement_document (known_from, known_to, request_id, doc_type, outcome, subject_id, counterparty_id,
       operation_date, ordered_at, document_sha256, items, recorded_at, recalls, channel, document_id)
     SELECT k, t, 'r-' || q, y, 'accepted', s, c, '', o, '', n, r, l,
       CASE WHEN w THEN 'counterparty' WHEN q % 3 = 0 THEN 'cabinet' END,
       CASE WHEN w THEN 'n-' || k WHEN q % 3 = 0 THEN 's-' || q END FROM unnest($1::bigint[], $2::bigint[],
       $3::timestamptz[], $4::int[], $5::timestamptz[], $6::bigint[], $7::int[], $8::text[], $9::text[], $10::text[],
       $11::boolean[]) x (k, t, o, n, r, q, y, s, c, l, w)`,
    [
      told.map((one) => one.knownFrom),
      told.map((one) => one.knownTo),
      told.map((one) => at(one.orderedAt)),
      told.map((one) => one.rows.length),
      told.map((one) => at(one.recordedAt)),
      told.map((one) => one.operation),
      told.map((one) => one.docType),
      told.map((one) => one.subject),
      told.map((one) => one.counterparty),
      told.map((one) => one.recalls),
      told.map((one) => one.isTold === true),
    ],
  );
  await pool.query(
    `INSERT INTO sent_document (request_id, document_id) SELECT 'r-' || q, 's-' || q FROM unnest($1::bigint[]) q
     ON CONFLICT DO NOTHING`,
    [told.map((one) => one.operation)],
  );
}

function rowsOf({
  knownFrom,
  rows,
}: DocumentOfLife): { knownFrom: number; effect: number; ordinal: number; item: string }[] {
  const seen = new Map<string, number>();
  return rows.map(([effect, item]) => {
    const ordinal = seen.get(item) ?? 0;
    seen.set(item, ordinal + 1);
    return { knownFrom, effect, ordinal, item };
  });
}
