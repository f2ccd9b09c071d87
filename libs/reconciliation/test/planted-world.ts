import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { importSnapshot } from '../src/snapshots/import.js';
import { mappingOf } from '../src/snapshots/mapping.js';
import type { SnapshotKind } from '../src/snapshots/kinds.js';
import { INNOCENT } from './innocent-stories.js';
import { LATE_STORIES } from './late-stories.js';
import { LEAVING, LEAVING_AND_HERE } from './leaving-stories.js';
import { PLANTED } from './planted-stories.js';
import {
  BOX,
  BOX_ON_REFUSED,
  FAR_BOX,
  FLYING_BOX,
  HELD_BOX,
  HIDDEN_BOX,
  HERE,
  INNER,
  LATE,
  MIXED_BOX,
  OPENED_BOX,
  OURS,
  PALLET,
  REFUSED_PALLET,
  SERIES,
  TRAVELLING,
  UNKNOWN_BOX,
  UNREAD,
  WHOLE_BOX,
  type CauseKind,
  type Finds,
  type Story,
} from './story.js';
import {
  chooser,
  daysBefore,
  MOMENT,
  states,
  type DisposalRow,
  type Folders,
  type RecordRow,
  type RegistryRow,
  type StockRow,
} from './world.js';

/** A finding that the world was made to have. */
interface ExpectedFinding {
  item: string;
  code: string;
  severity: string;
  kind: CauseKind;
  /** Log position of the document, SSCC, or GTIN. */
  cause: string;
  story: string;
}

export interface PlantedWorld {
  stock: (StockRow & { otherState?: string })[];
  record: (RecordRow & { known_from: number })[];
  registry: RegistryRow[];
  disposals: DisposalRow[];
  documents: DocumentRow[];
  expected: ExpectedFinding[];
  explained: Record<string, number>;
  storyOf: Map<string, string>;
}

interface DocumentRow {
  item: string;
  standing: string;
  document: string;
  position: string;
  moment: string;
}

export interface WorldSize {
  seed: number;
  packs: number;
  /** Packs of each planted story. */
  each: number;
  /** Digit with which the MD5 of all packs begins; default: any. */
  bucket?: string;
}

const gtinOf = (n: number): string => {
  const digits = `046012345${String(n).padStart(4, '0')}`;
  return `${digits}${checkDigitOf(digits)}`;
};
const wrongGtinOf = (n: number): string => {
  const gtin = gtinOf(n);
  return `${gtin.slice(0, 13)}${(Number(gtin.at(-1)) + 1) % 10}`;
};
const GTINS = 5;
/** Packs that one document of ours tells of. */
const PACKS_OF_DOCUMENT = 8;

/** The same world for the same seed: planted stories first, then innocent ones, each pack with one story. */
export function plantedWorld({ seed, packs, each, bucket }: WorldSize): PlantedWorld {
  const choose = chooser(seed);
  const made: PlantedWorld = {
    ...{
      stock: [],
      record: [],
      registry: [],
      disposals: [],
      documents: [],
      expected: [],
      explained: {},
      storyOf: new Map(),
    },
  };
  addContainers(made);
  const planted = [...PLANTED, ...LATE_STORIES, ...LEAVING_AND_HERE].flatMap((story) => Array<Story>(each).fill(story));
  const innocent = [...INNOCENT, ...LEAVING];
  const numbers = Array.from({ length: GTINS }, (_, n) => n);
  for (let [n, tried] = [0, 0]; n < packs; tried += 1) {
    const story = planted[n] ?? innocent[n - planted.length] ?? choose(innocent);
    const gtin = choose(numbers);
    const serial = `${seed.toString(36).toUpperCase()}${tried.toString(36).toUpperCase()}`.padStart(13, '0');
    const item = `${story.wrongDigit === true ? wrongGtinOf(gtin) : gtinOf(gtin)}${serial}`;
    if (bucket !== undefined && !createHash('md5').update(item).digest('hex').startsWith(bucket)) continue;
    addPack(made, story, { item, knownFrom: 10 * (1 + Math.floor(n / PACKS_OF_DOCUMENT)) });
    n += 1;
  }
  return made;
}

/** Rows of the stock that stand for what is in them; the registry's side has the one that is on a pallet. */
function addContainers(made: PlantedWorld): void {
  const { stock, registry, documents, explained } = made;
  const row = { place: HERE, series: null, expiry: null, twice: false };
  const state = { [BOX]: 'sellable', [HELD_BOX]: 'quarantine', [PALLET]: 'sellable', [TRAVELLING]: 'in_transit' };
  for (const [item, of] of Object.entries(state)) stock.push({ ...row, item, state: of });
  registry.push({ ...ANSWERED, item: INNER, answer: 'found', container: PALLET });
  for (const [item, [answer, code, severity]] of Object.entries(ASKED_BOXES)) {
    stock.push({ ...row, item, state: 'sellable' });
    registry.push({ ...ANSWERED, item, answer });
    if (code === undefined || severity === undefined) continue;
    made.expected.push({ item, code, severity, kind: 'container', cause: item, story: `the container ${item}` });
  }
  stock.push({ ...row, item: REFUSED_PALLET, state: UNREAD });
  registry.push({ ...ANSWERED, item: BOX_ON_REFUSED, answer: 'found', container: REFUSED_PALLET });
  explained['row_refused'] = 1;
  documents.push({ item: FLYING_BOX, standing: 'in_flight', document: 'doc-1', position: '1', moment: MOMENT });
  explained['registry_not_asked'] = Object.keys(state).length;
}

const STOCK = { place: HERE, series: SERIES, expiry: '2027-01-31', state: 'sellable', twice: false };
const RECORD = { status: 'in_circulation', place: HERE, container: null, uncertain: false };
const REGISTRY = {
  ...{ answer: 'found', status: 'in_circulation', place: HERE, container: null, series: SERIES },
  ...{ expiry: '2027-01-31', funding: '1', owner: OURS, moved_at: daysBefore(60), moment: MOMENT },
};
/** What an answer that shows nothing leaves out. */
const HIDDEN = {
  ...{ status: null, place: null, container: null, series: null, expiry: null },
  ...{ funding: null, owner: null, moved_at: null },
};

/** A row of a container. */
const ANSWERED = { ...REGISTRY, ...HIDDEN };
/** What the registry answers about a container of the stock, and what is found of it by the packs of the stories. */
const ASKED_BOXES: Record<string, [answer: string, code?: string, severity?: string]> = {
  [WHOLE_BOX]: ['found'],
  [OPENED_BOX]: ['found', 'container_dissolved', 'warning'],
  [MIXED_BOX]: ['found', 'container_mismatch', 'warning'],
  [FAR_BOX]: ['found', 'owner_or_branch_mismatch', 'warning'],
  [UNKNOWN_BOX]: ['not_found', 'missing_in_registry', 'critical'],
  [HIDDEN_BOX]: ['denied', 'not_visible_to_us', 'information'],
};

interface Pack {
  item: string;
  knownFrom: number;
}

function addPack(made: PlantedWorld, story: Story, pack: Pack): void {
  const { stock: s, record: r, registry: g, disposal: d, document: x } = sidesOf(story, pack);
  made.storyOf.set(pack.item, story.name);
  if (s !== undefined) made.stock.push(s);
  if (r !== undefined) made.record.push(r);
  if (g !== undefined) made.registry.push(g);
  if (d !== undefined) made.disposals.push(d);
  if (x !== undefined) made.documents.push(x);
  for (const code of story.explained ?? []) made.explained[code] = (made.explained[code] ?? 0) + 1;
  if (story.finds !== undefined) made.expected.push(expectedOf(story.finds, pack, { r, g, x, story: story.name }));
}

function expectedOf(
  [code, severity, kind]: Finds,
  { item, knownFrom }: Pack,
  {
    r,
    g,
    x,
    story,
  }: { r: RecordRow | undefined; g: RegistryRow | undefined; x: DocumentRow | undefined; story: string },
): ExpectedFinding {
  const held = code === 'container_mismatch' ? g?.container : (r?.container ?? g?.container);
  const cause = {
    document: BY_ITS_ID.includes(code) ? x?.document : String(knownFrom),
    container: held ?? '',
    series: item.slice(0, 14),
  }[kind];
  return { item, code, severity, kind, cause: cause ?? '', story };
}

/** Findings that are put down to the document itself. */
const BY_ITS_ID = ['rejected_document', 'halted_in_group', 'overdue_document'];

function documentOf(
  { standing, moment = MOMENT, older }: NonNullable<Story['document']>,
  { item, knownFrom }: Pack,
): DocumentRow {
  const position = String(knownFrom + (older === true ? -5 : 5));
  return { item, standing, document: `doc-${position}`, position, moment };
}

/** The rows of a pack; undefined where a side has none. */
function sidesOf(story: Story, { item, knownFrom: told }: Pack) {
  const { stock, record, registry, disposal, document, statesDiffer, learntLate } = story;
  const knownFrom = learntLate === true ? LATE + told : told;
  const differs = statesDiffer === true ? { otherState: 'quarantine' } : {};
  const hidden = registry?.answer === undefined ? {} : HIDDEN;
  const sold = { item, place: HERE, receipt: '17/4', moment: daysBefore(20) };
  return {
    stock: stock === null ? undefined : { ...STOCK, item, ...stock, ...differs },
    record: record === null ? undefined : { ...RECORD, item, ...record, known_from: knownFrom },
    registry: registry === null ? undefined : { ...REGISTRY, item, ...hidden, ...registry },
    disposal: disposal === undefined ? undefined : { ...sold, ...disposal },
    document: document === undefined ? undefined : documentOf(document, { item, knownFrom }),
  };
}

/** Stock as a pharmacy's program writes it, the other sides as they are imported; all through the product's reader. */
export async function writePlantedWorld(folder: string, world: PlantedWorld): Promise<Folders & { documents: string }> {
  await mkdir(folder, { recursive: true });
  const cells = world.stock.flatMap(({ otherState, ...row }) =>
    (row.twice ? [row, { ...row, state: otherState ?? row.state }] : [row]).map(lineOf),
  );
  return {
    stock: await imported(folder, 'stock', {
      text: ['KM;Branch;Series;Expiry;State;Money;Left;Owner', ...cells, ''].join('\n'),
      csv: true,
    }),
    record: await states(folder, world.record),
    registry: await imported(folder, 'registry', { text: ndjson(world.registry) }),
    disposals: await imported(folder, 'disposals', { text: ndjson(world.disposals) }),
    documents: await imported(folder, 'documents', { text: ndjson(world.documents) }),
  };
}

const WORDS = { sellable: 'Free', reserved: 'Picked', quarantine: 'Blocked', in_transit: 'Coming' };
const lineOf = ({ item, place, series, expiry, state, funding, part, owner }: StockRow): string =>
  [
    ...[item, place, series, (expiry ?? '').split('-').reverse().join('.')],
    ...[WORDS[state as keyof typeof WORDS] ?? state, funding, part, owner],
  ].join(';');
const ndjson = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

const NAMES = {
  registry: ['item', ...Object.keys(REGISTRY)],
  disposals: ['item', 'place', 'receipt', 'moment'],
  documents: ['item', 'standing', 'document', 'position', 'moment'],
};

async function imported(
  folder: string,
  kind: SnapshotKind,
  { text, csv = false }: { text: string; csv?: boolean },
): Promise<string> {
  const path = join(folder, `${kind}.txt`);
  await writeFile(path, text);
  const mapping = csv
    ? {
        ...{ format: 'csv', delimiter: ';', dates: ['DD.MM.YYYY'] },
        columns: {
          ...{ item: 'KM', place: 'Branch', series: 'Series', expiry: 'Expiry', state: 'State' },
          ...{ funding: 'Money', part: 'Left', owner: 'Owner' },
        },
        words: { state: Object.fromEntries(Object.entries(WORDS).map(([word, theirs]) => [theirs, word])) },
      }
    : {
        format: 'ndjson',
        columns: Object.fromEntries(NAMES[kind as keyof typeof NAMES].map((name) => [name, name])),
      };
  const out = join(folder, kind);
  await importSnapshot({
    ...{ kind, path, out, moment: MOMENT, duck: { memoryMb: 300, threads: 1 }, confirmed: true },
    mapping: mappingOf(mapping, kind),
  });
  return out;
}
