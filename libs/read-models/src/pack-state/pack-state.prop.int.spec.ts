import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { typeKnowledge, type DocumentFacts, type ItemEffect } from '#documents';
import type { ToldItem } from '#domain';
import { defined, type Sgtin } from '#kernel';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { sized } from '../../../../test/support/sized.js';
import { patient } from '../../../../test/support/until.js';
import { box, documentIdOf, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import type { DocumentReading } from '../sgtin-history/movements.js';
import { RUN_ITEMS, sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { maskOf } from '../sgtin-history/doubtful-parts.js';
import { historyOf } from '../sgtin-history/query.js';
import { stateOf } from '../sgtin-history/state-query.js';
import { packsNow } from './now.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? sized({ test: 16, soak: 400 }));
/** A failure is shrunk no longer than this, so that the seed and what was found are printed. */
const TIME_LIMIT_MS = sized({ test: 120_000, soak: 1_500_000 });
/** Few, so that lives cross. */
const [PACKS, BOXES] = [4, 3];
const HERE = '00000000000464';
const PLACES = [HERE, '00000000000777', '00000000000888'];

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase(readModelSchemas);
});
afterAll(() => db.drop());

/** Arbitration changes the status of what stays where it is; nobody knows what 314 does; some sales are of a part. */
const effectOf = (facts: DocumentFacts, one: ItemEffect): ItemEffect => {
  const { part } = facts.fields;
  if (one.result === 'applied' && part !== undefined) return { ...one, status: 'in_partial_sale', part };
  if (one.result === 'applied' && facts.docType === 481)
    return { item: one.item, result: 'applied', status: 'in_arbitration' };
  if (facts.docType === 210 && one.result === 'applied') return { item: one.item, result: 'applied' };
  const isOpen = facts.docType === 314 || facts.fields['doubt'] !== undefined;
  if (one.result === 'applied' && isOpen) return { item: one.item, result: 'undetermined' };
  // A move tells whose the goods are and who has them, too; what puts in or takes out, and a loss, do not.
  return one.result === 'applied' && TELLS_SIDES.has(facts.docType)
    ? { ...one, ...defined({ owner: facts.subjectId, holder: facts.counterpartyId }) }
    : one;
};
const TELLS_SIDES = new Set([431, 432, 415, 701]);
const reading: DocumentReading = {
  ...jsonDocuments,
  effectsOf: (facts, receipt) => jsonDocuments.effectsOf(facts, receipt).map((one) => effectOf(facts, one)),
};

/** What may happen next; numbers choose among packs, boxes and places. */
const step = fc.record({
  kind: fc.constantFrom(
    ...(['receive', 'receive', 'pack', 'pack', 'pack', 'nest', 'nest', 'ship', 'ship', 'partly', 'refuse'] as const),
    ...([
      'extract',
      'sell',
      'sell_part',
      'sell_part',
      'return',
      'open',
      'open_all',
      'suspend',
      'arbitrate',
      'unknown',
      'unknown_move',
      'unknown_box',
      'unknown_sale',
      'place',
      'found',
    ] as const),
    ...(['told', 'claim', 'accept', 'refuse_packs', 'take_back', 'move', 'move_box', 'recall', 'ask'] as const),
  ),
  packs: fc.uniqueArray(fc.nat(PACKS - 1), { minLength: 1, maxLength: 3 }),
  box: fc.nat(BOXES - 1),
  outer: fc.nat(BOXES - 1),
  place: fc.nat(PLACES.length - 1),
  /** Minutes by which the registry took it before the one that came before it in the log. */
  late: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(200) }),
  /** It turns out otherwise later. */
  revised: fc.constantFrom('no', 'no', 'no', 'to accepted', 'to failed'),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const GTIN = pack(0).slice(0, 14);

interface Chosen {
  items: string[];
  inner: string;
  outer: string;
  counterpartyId: string;
  series: string;
}

const ship = ({ inner, counterpartyId, series }: Chosen): DocumentOfTest => ({
  ...{ docType: 415, items: [inner], counterpartyId, series: [{ item: inner, gtin: GTIN, series }] },
});

const DOCUMENTS: Record<Step['kind'], (chosen: Chosen) => DocumentOfTest> = {
  receive: ({ items, series }) => ({ docType: 701, items, series: [{ gtin: GTIN, series }] }),
  found: ({ items }) => ({ docType: 701, items }),
  pack: ({ items, inner }) => ({ docType: 911, items, into: inner }),
  told: () => ({ docType: 221, items: [] }),
  nest: (chosen) =>
    chosen.outer < chosen.inner ? { docType: 911, items: [chosen.outer], into: chosen.inner } : ship(chosen),
  ship,
  partly: ({ items, counterpartyId }) => ({
    ...{ docType: 415, items, counterpartyId },
    outcome: 'partial',
    errors: [{ code: '2', text: 'no', objectId: items[0] as string }],
  }),
  // Whatever these say: where the goods then are follows from the shipment, where one is known.
  refuse: ({ inner, counterpartyId }) => ({ docType: 252, items: [inner], counterpartyId }),
  refuse_packs: ({ items, counterpartyId }) => ({ docType: 252, items, counterpartyId }),
  take_back: ({ inner, counterpartyId }) => ({ docType: 251, items: [inner], counterpartyId }),
  claim: ({ items, inner, counterpartyId }) => ({ docType: 416, items: [...items.slice(1), inner], counterpartyId }),
  accept: ({ items, inner, counterpartyId }) => ({ docType: 701, items: [...items.slice(1), inner], counterpartyId }),
  move: ({ items, counterpartyId }) => ({ docType: 431, items, counterpartyId }),
  move_box: ({ inner, counterpartyId }) => ({ docType: 431, items: [inner], counterpartyId }),
  recall: () => ({ docType: 250, items: [] }),
  ask: ({ items: [item = ''], inner, series }) => ({
    ...{ docType: 210, items: [item, inner] },
    series: [
      { item, series },
      { item: inner, gtin: GTIN, series },
    ],
  }),
  extract: ({ items }) => ({ docType: 913, items: items.slice(0, 1) }),
  sell: ({ items }) => ({ docType: 511, items }),
  sell_part: ({ items }) => ({ docType: 511, items, fields: { part: '1/2' } }),
  return: ({ inner, counterpartyId }) => ({ docType: 417, items: [inner], counterpartyId }),
  open: ({ inner }) => ({ docType: 912, items: [inner] }),
  open_all: ({ inner }) => ({ docType: 912, items: [inner], recursive: true }),
  suspend: ({ items, counterpartyId }) => ({ docType: 417, items: items.slice(0, 2), counterpartyId }),
  arbitrate: ({ items, inner }) => ({ docType: 481, items: [...items.slice(0, 1), inner] }),
  unknown: ({ items, inner }) => ({ docType: 314, items: [...items.slice(0, 1), inner] }),
  unknown_move: ({ items, inner, counterpartyId }) => ({
    ...{ docType: 431, items: [...items.slice(0, 1), inner], counterpartyId, fields: { doubt: 'it' } },
  }),
  unknown_box: ({ inner, counterpartyId }) => ({
    docType: 431,
    items: [inner],
    counterpartyId,
    fields: { doubt: 'it' },
  }),
  unknown_sale: ({ items }) => ({ docType: 511, items, fields: { doubt: 'it' } }),
  place: ({ counterpartyId }) => ({ docType: 432, items: [HERE], counterpartyId }),
};

const documentOf = ({ kind, packs, box: inner, outer, place }: Step): DocumentOfTest =>
  DOCUMENTS[kind]({
    ...{ items: packs.map(pack), inner: box(inner), outer: box(outer) },
    ...{ counterpartyId: PLACES[place] as string, series: `S${packs.length}` },
  });

/** What the registry tells of a box: packs, or a smaller box with packs. */
function toldIn({ packs, box: inner, outer }: Step): ToldItem[] {
  const nested = outer < inner ? [{ id: box(outer), into: box(inner) }] : [];
  const into = nested[0]?.id ?? box(inner);
  return [...nested, ...packs.map((n) => ({ id: pack(n), into, ...(n % 2 === 0 ? { series: `S${n}` } : {}) }))];
}

/** The log of these steps: most in the registry's order, some late, some revised, some first seen as another's. */
function logOf(steps: readonly Step[]): LogOfTest {
  const log = new LogOfTest();
  const later: (() => void)[] = [];
  const moves: string[] = [];
  steps.forEach((one, n) => {
    const acceptedAt = new Date(Date.parse('2026-03-01T08:00:00Z') + (n * 10 - one.late) * 60_000).toISOString();
    const of = { ...documentOf(one), acceptedAt, ...(one.kind === 'recall' ? recalling(one, moves) : {}) };
    if (one.kind === 'told') return void log.tell(box(one.box), toldIn(one), acceptedAt);
    if (one.kind === 'found') return void foundFirst(log, { of, n, later });
    const requestId = log.send(of);
    if (of.docType === 431) moves.push(requestId);
    const first = one.revised === 'to accepted' ? ({ ...of, outcome: 'failed' } as const) : of;
    log.conclude(requestId, first);
    if (one.revised === 'to accepted') later.push(() => log.conclude(requestId, of, 'failed'));
    if (one.revised === 'to failed')
      later.push(() => log.conclude(requestId, { ...of, outcome: 'rejected' }, of.outcome ?? 'accepted'));
    if (n % 3 === 2) later.shift()?.();
  });
  for (const one of later) one();
  return log;
}

/** A recall of one of the moves before, by request_id or by the registry's id of it. */
function recalling({ packs, outer }: Step, moves: readonly string[]): Pick<DocumentOfTest, 'fields'> {
  const requestId = moves.at(-1 - (packs[0] as number)) ?? moves.at(-1) ?? 'nothing';
  return { fields: { operation_id: outer === 0 ? requestId : documentIdOf(requestId) } };
}

/** A document of ours that was seen in a list before we knew that it is ours. */
function foundFirst(
  log: LogOfTest,
  { of, n, later }: { of: DocumentOfTest & { acceptedAt: string }; n: number; later: (() => void)[] },
): void {
  const requestId = log.send(of);
  const documentId = `found-${n}`;
  const position = log.conclude(requestId, of);
  const documentSha256 = log.events[Number(position) - 1]?.data['documentSha256'] as string;
  const { docType, acceptedAt } = of;
  log.addInbound(documentId, {
    type: 'InboundConcluded',
    data: {
      ...{ documentId, direction: 'outgoing', channel: 'cabinet', outcome: 'accepted', isReadable: true },
      ...{ docType, documentSha256, acceptedAt },
    },
  });
  later.push(() => log.addInbound(documentId, { type: 'InboundRecognised', data: { documentId, requestId } }));
}

async function project(log: LogOfTest, { pageSize, runItems }: { pageSize: number; runItems: number }): Promise<void> {
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: reading, runItems });
  await emptyTables(db.pool, projection);
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  for (let from = 0; from < events.length; from += pageSize)
    await inTransaction(db.pool, (tx) => projection.project(events.slice(from, from + pageSize), tx));
}

const lines = async (table: string): Promise<string[]> =>
  (await db.pool.query<{ line: string }>(`SELECT t::text AS line FROM ${table} t ORDER BY 1`)).rows.map(
    ({ line }) => line,
  );
const dump = async (): Promise<string[][]> => Promise.all(['pack_state', 'pack_stay', 'place_move'].map(lines));

interface Shown {
  status?: string | undefined;
  place?: string | undefined;
  container?: string | undefined;
  /** What is open of it, as bits. */
  doubts: number;
}

/** As the single pack's life tells it. */
async function alone(item: string): Promise<Shown> {
  const history = await historyOf(db.pool, item, { types: typeKnowledge });
  const state = await stateOf(db.pool, item as Sgtin, { types: typeKnowledge });
  const doubts = maskOf(state?.uncertain.flatMap(({ parts }) => parts) ?? []);
  return { status: history?.status, place: history?.place, container: history?.container, doubts };
}

async function together(): Promise<Map<string, Shown>> {
  const now = await packsNow(
    db.pool,
    Array.from({ length: PACKS }, (_, n) => pack(n)),
    typeKnowledge,
  );
  return new Map(
    now.map(({ item, status, place, container, doubts, doubtFrom }) => {
      expect(doubtFrom !== null).toBe(doubts !== null);
      return [
        item,
        {
          ...{ status: status ?? undefined, place: place || undefined, container: container ?? undefined },
          doubts: doubts ?? 0,
        },
      ];
    }),
  );
}

const NOTHING: Shown = { status: undefined, place: undefined, container: undefined, doubts: 0 };

async function agrees(steps: readonly Step[]): Promise<void> {
  const log = logOf(steps);
  const dumps: string[][][] = [];
  // Many pages, one page that names items again and again, and one that is worked in runs that do not.
  for (const [pageSize, runItems] of [
    [2, RUN_ITEMS],
    [500, RUN_ITEMS],
    [500, 1],
  ] as const) {
    await project(log, { pageSize, runItems });
    dumps.push(await dump());
  }
  expect(dumps.slice(1)).toEqual([dumps[0], dumps[0]]);
  const bulk = await together();
  for (let n = 0; n < PACKS; n += 1) {
    const one = await alone(pack(n));
    const listed = bulk.get(pack(n)) ?? NOTHING;
    expect([n, listed]).toEqual([n, one]);
  }
}

describe('the state of packs', () => {
  it(
    `is for every pack that of its own life, and the same in pages of 2 and 500 and in runs (seed ${SEED})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), (plain, all) =>
          // After a move of a whole place, or with a revision, every life is read: half of the runs go without.
          agrees(
            plain ? all.filter(({ kind, revised }) => !['place', 'recall'].includes(kind) && revised === 'no') : all,
          ),
        ),
        { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: patient(TIME_LIMIT_MS), markInterruptAsFailure: true },
      );
    },
    2 * TIME_LIMIT_MS,
  );

  it('takes the place from the shipment that a refusal of what is in the container answers', async () => {
    const ship: Step = { ...one, kind: 'partly', packs: [1, 0], place: 1 };
    await agrees([ship, { ...one, kind: 'pack' }, { ...one, kind: 'refuse', place: 2 }]);
    expect(await packsNow(db.pool, [pack(0)], typeKnowledge)).toMatchObject([{ place: HERE }]);
  });

  it('is that of a whole pack when its last part is sold, also by a document that comes late', async () => {
    const parts: Step[] = [
      { ...one, kind: 'sell_part' },
      { ...one, kind: 'sell_part', late: 15 },
    ];
    await agrees([one, ...parts]);
    expect(await packsNow(db.pool, [pack(0)], typeKnowledge)).toMatchObject([{ status: 'in_sale' }]);
    await agrees([one, ...parts.slice(0, 1)]);
    expect(await packsNow(db.pool, [pack(0)], typeKnowledge)).toMatchObject([{ status: 'in_partial_sale' }]);
  });

  it('leaves out a move that was recalled, of the container that holds a pack', async () => {
    const moved: Step[] = [
      { ...one, kind: 'pack' },
      { ...one, kind: 'move_box', place: 1 },
    ];
    await agrees([one, ...moved, { ...one, kind: 'recall' }]);
    expect(await packsNow(db.pool, [pack(0)], typeKnowledge)).toMatchObject([{ place: HERE }]);
  });

  const one: Step = { kind: 'receive', packs: [0], box: 0, outer: 0, place: 0, late: 0, revised: 'no' };

  it.each<[string, Step['kind'][], boolean]>([
    ['by a move, until another move tells it', ['receive', 'unknown_move', 'move'], false],
    ['by a move of its container, also where it is moved itself then', ['pack', 'unknown_box', 'arbitrate'], true],
    ['by a move, until its container is moved', ['unknown_move', 'pack', 'move_box'], false],
    ['by a sale, until it is sold', ['receive', 'unknown_sale', 'move', 'sell'], false],
  ])('leaves open what is open in the life of the pack: %s', async (_, kinds, isOpen) => {
    await agrees(kinds.map((kind) => ({ ...one, kind, place: 1 })));
    expect((await packsNow(db.pool, [pack(0)], typeKnowledge))[0]?.doubtFrom !== null).toBe(isOpen);
  });

  it('counts a late document of the container that a pack has left since', async () => {
    const packed: Step[] = [
      { ...one, kind: 'pack' },
      { ...one, kind: 'extract' },
    ];
    await agrees([...packed, { ...one, kind: 'ship', late: 15 }]);
    expect(await packsNow(db.pool, [pack(0)], typeKnowledge)).toMatchObject([{ container: null, series: 'S1' }]);
  });

  it('has the series that a container told after a packing that became known late', async () => {
    const receivedThen: Step[] = [one, { ...one, revised: 'to failed' }, one, one];
    await agrees([{ ...one, kind: 'ship' }, { ...one, kind: 'pack', packs: [1, 0], late: 11 }, ...receivedThen]);
    expect(await packsNow(db.pool, [pack(1)], typeKnowledge)).toMatchObject([{ series: 'S1' }]);
  });

  it('has its series from the first document that told it of the pack itself, not of its container', async () => {
    await agrees([{ ...one, kind: 'pack' }, { ...one, kind: 'ship' }, one, one]);
    const [{ seriesFrom } = {}] = await packsNow(db.pool, [pack(0)], typeKnowledge);
    const named = await db.pool.query<{ known_from: bigint }>(
      'SELECT known_from FROM item_movement WHERE item = $1 ORDER BY known_from',
      [pack(0)],
    );
    expect(seriesFrom).toBe(named.rows[1]?.known_from);
  });
});
