import type { PackState, Trail } from '../packs/pack.js';
import type { PackStore } from '../packs/packs.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import type { Participant, World } from '../packs/world.js';
import { expiration, isoSecond, statusSinceMs } from '../registries/pack-facts.js';
import { storageRecord } from '../registries/storage-ledger.js';

type Cell = string | number | undefined;
/** Rows of a report, made when somebody reads them, from the packs as they were when it was ordered. */
export type Report = Iterable<Cell[]>;

/** The export of all packs of a participant that are not archived, as they were some hours ago (public-facts 5). */
export const PACKS = 'SGTINS';

/** Reports that the sandbox can make (public-facts 1.8); the first row holds the names of the columns. */
export const REPORTS: Record<
  string,
  ((packs: PackStore, world: World, of: { owner: Participant; atMs: number }) => Report) | undefined
> = {
  [PACKS]: (packs, world, { owner, atMs }) =>
    withColumns(
      PACK_COLUMNS,
      withNulls(
        packRows(
          snapshot(packs, (state) => stateAt(state, atMs)),
          {
            packs,
            world,
            isWanted: (state, number) => state.owner === owner.key && !packs.isArchived(packs.index.sgtin(number)),
          },
        ),
      ),
    ),
  GENERAL_REPORT_ON_REMAINING_ITEMS: (packs, world, { owner }) => {
    const rows = packRows(snapshot(packs), {
      packs,
      world,
      isWanted: (state) => state.owner === owner.key && !FINAL_STATUSES.has(state.status),
    });
    return withColumns(PACK_COLUMNS, rows);
  },
  GENERAL_REPORT_ON_DISPOSAL: (packs, world, { owner }) => {
    const rows = packRows(snapshot(packs), {
      packs,
      world,
      isWanted: (state) => state.owner === owner.key && FINAL_STATUSES.has(state.status),
    });
    return withColumns(PACK_COLUMNS, rows);
  },
  GENERAL_REPORT_ON_MOVEMENT: (packs, _world, { owner }) =>
    withColumns(MOVEMENT_COLUMNS, movementRows(snapshot(packs), packs, owner)),
  VIRTUAL_WAREHOUSE_REPORT: (packs, _world, { owner }) => {
    const records = [...packs.storage.rows(owner.branches)].map(storageRecord);
    return withColumns(
      Object.keys(records[0] ?? { storage_id: '', gtin: '' }),
      records.map((record) => Object.values(record)),
    );
  },
};

/** Reports that exist, and that the sandbox knows too little for: such a task fails. */
export const IMPOSSIBLE: Record<string, string> = { GENERAL_PRICING_REPORT: 'the sandbox keeps no prices' };

const PACK_COLUMNS = [
  'sgtin',
  'gtin',
  'sell_name',
  'batch',
  'expiration_date',
  'status',
  'status_date',
  'branch_id',
  'sscc',
];
const MOVEMENT_COLUMNS = ['sgtin', 'gtin', 'batch', 'doc_type', 'document_id', 'doc_num', 'op_date', 'status', 'sscc'];

/** The states of all packs; they never change, so keeping them is keeping the moment. */
function snapshot<S = PackState>({ index }: PackStore, as: (state: PackState) => S = (state) => state as S): S[] {
  return Array.from({ length: index.size }, (_, number) => as(index.state(number)));
}

/** What the pack was at a moment of the virtual clock; undefined: not there yet. */
function stateAt(state: PackState, atMs: number): PackState | undefined {
  if (state.trail === undefined) return state;
  let step: Trail | undefined = state.trail;
  while (step !== undefined && step.change.atMs > atMs) step = step.previous;
  return step && Object.assign({ ...step.state }, { trail: step });
}

/** An empty cell is the word null there. */
function* withNulls(rows: Report): Report {
  for (const row of rows) yield row.map((cell) => cell ?? 'null');
}

function* withColumns(columns: string[], rows: Report): Report {
  yield columns;
  yield* rows;
}

interface PackRows {
  packs: PackStore;
  world: World;
  isWanted(state: PackState, number: number): boolean;
}

function* packRows(states: readonly (PackState | undefined)[], { packs, world, isWanted }: PackRows): Report {
  const expires = expiration(world);
  for (const [number, state] of states.entries()) {
    if (state === undefined || !isWanted(state, number)) continue;
    const { gtin, series } = packs.index.class(number);
    const name = world.products.get(gtin)?.prodSellName;
    yield [
      packs.index.sgtin(number),
      gtin,
      name,
      series,
      state.expires === undefined ? expires : expiration(world, state.expires),
      state.status,
      isoSecond(statusSinceMs(state)),
      state.place,
      state.sscc,
    ];
  }
}

/** One row for each document of the participant and each pack in it, newest first. */
function* movementRows(states: PackState[], packs: PackStore, owner: Participant): Report {
  for (const [number, state] of states.entries()) {
    const { gtin, series } = packs.index.class(number);
    for (let step = state.trail; step !== undefined; step = step.previous) {
      const { document, docType, atMs } = step.change;
      if (document === undefined || (document.sender !== owner.key && document.receiver !== owner.key)) continue;
      yield [
        packs.index.sgtin(number),
        gtin,
        series,
        docType,
        document.documentId,
        document.docNum,
        isoSecond(atMs),
        step.status,
        step.sscc,
      ];
    }
  }
}

/** RFC 4180. */
export const csvLine = (row: Cell[]): string => `${row.map(csvCell).join(',')}\r\n`;

function csvCell(cell: Cell): string {
  const text = String(cell ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
