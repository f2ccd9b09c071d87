import {
  CONTAINER_STREAM_PREFIX,
  DOCUMENT_STREAM_PREFIX,
  INBOUND_STREAM_PREFIX,
  readToldContent,
  requestIdOfStream,
  type ContainerEvent,
  type DocumentEvent,
  type DocumentSent,
  type InboundEvent,
} from '#domain';
import { type RecordedEvent, type TypedEvent, typedEvents } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { followPacks, PACK_TABLES } from '../pack-state/follow.js';
import { PAGE_BOUNDS, withinBytes, type PageBounds } from '../page-bounds.js';
import { Table } from '../table.js';
import { contentMovementsOf, type ContentObservation } from './content-movements.js';
import { CONTENT_QUESTION, writeQuestions, type ContainerNews } from './content-question.js';
import { recalledBy } from './recalls.js';
import {
  closeRecognised,
  inboundMovementsOf,
  tellsMovements,
  type InboundConclusion,
  type Recognition,
} from './inbound-movements.js';
import { movementsOf, type Conclusion, type DocumentReading, type Movements } from './movements.js';
import {
  CONTAINMENT,
  ITEM_MOVEMENT,
  MOVEMENT_DOCUMENT,
  MOVEMENT_EFFECT,
  SENT_DOCUMENT,
  type ContainmentRow,
} from './row.js';

export interface SgtinHistoryOptions {
  evidence: EvidenceStore;
  documents: DocumentReading;
  /** Default: PAGE_BOUNDS. */
  bounds?: PageBounds;
}

type Typed = TypedEvent<DocumentEvent | InboundEvent | ContainerEvent>;
/** What names evidence that tells of items. */
type Telling = Conclusion | InboundConclusion | ContentObservation;

/** Conclusions whose XML and receipts are in memory at once. */
const DOCUMENTS_AT_ONCE = 100;
/** Item rows gathered before they are written. */
const ROWS_AT_ONCE = 20_000;

/**
 * Keeps every item's life. What a document did is read from the evidence, not from the event: the same log and evidence
 * give the same tables. Missing or damaged evidence throws, and the projection halts loudly rather than leave a gap in
 * a pack's history.
 */
export function sgtinHistoryProjection(options: SgtinHistoryOptions): Projection {
  return {
    name: 'sgtin-history',
    filter: {
      streamPrefixes: [DOCUMENT_STREAM_PREFIX, INBOUND_STREAM_PREFIX, CONTAINER_STREAM_PREFIX],
      types: [
        ...(['DocumentSent', 'DocumentConcluded', 'ConclusionRevised', 'InboundConcluded'] as const),
        ...['InboundRecognised', ...CONTAINER_NEWS],
      ],
    },
    project: async (events, tx) => {
      const typed = typedEvents<DocumentEvent | InboundEvent | ContainerEvent>(events);
      const movements: Movements[] = [];
      const done = typed.slice(0, await projectConclusions(typed, tx, { ...options, movements }));
      await writeSent(
        tx,
        done.filter((event): event is RecordedEvent & DocumentSent => event.type === 'DocumentSent'),
      );
      await writeQuestions(tx, done.filter(isContainerNews));
      const revised = await closeRevised(
        tx,
        done.filter((event) => event.type === 'ConclusionRevised'),
      );
      const recognised = await closeRecognised(
        tx,
        done.filter((event): event is Recognition => event.type === 'InboundRecognised'),
      );
      const closed = [...revised, ...recognised];
      const recalled = await recalledBy(tx, { movements, closed });
      await followPacks(tx, { movements, closed: [...closed, ...recalled], types: options.documents });
      return done.length;
    },
    truncate: (tx) =>
      Table.truncate(
        ...([tx, SENT_DOCUMENT, MOVEMENT_DOCUMENT, MOVEMENT_EFFECT, ITEM_MOVEMENT, CONTAINMENT] as const),
        ...[CONTENT_QUESTION, ...PACK_TABLES],
      ),
  };
}

const CONTAINER_NEWS = [
  'ContainerContentAsked',
  'ContainerContentWithheld',
  'ContainerContentObserved',
  'ContainerContentUnavailable',
] as const satisfies ContainerEvent['type'][];

const isContainerNews = (event: Typed): event is ContainerNews =>
  (CONTAINER_NEWS as readonly string[]).includes(event.type);

/** Works the conclusions of a page as far as its bounds go; returns how many events of the page are done with them. */
async function projectConclusions(
  events: Typed[],
  tx: Transaction,
  { evidence, documents, movements, bounds = PAGE_BOUNDS }: SgtinHistoryOptions & Gathering,
): Promise<number> {
  const places = events.flatMap((event, place) => (tellsItems(event) ? [{ event, place }] : []));
  const fitting = await withinBytes(places, ({ event }) => digestsOf(event), { evidence, bytes: bounds.bytes });
  let [worked, items] = [0, 0];
  while (worked < fitting && items < bounds.items) {
    const group = places.slice(worked, Math.min(fitting, worked + DOCUMENTS_AT_ONCE)).map(({ event }) => event);
    const written = await projectGroup(group, tx, { evidence, documents, movements, mostItems: bounds.items - items });
    worked += written.events;
    items += written.items;
  }
  return places[worked]?.place ?? events.length;
}

/** Gets everything that the page writes. */
type Gathering = { movements: Movements[] };
type Group = Pick<SgtinHistoryOptions, 'evidence' | 'documents'> & Gathering & { mostItems: number };

/** Stops after the event with which there are as many items as are wanted. */
async function projectGroup(
  group: Telling[],
  tx: Transaction,
  { evidence, documents, movements: gathered, mostItems }: Group,
): Promise<{ events: number; items: number }> {
  const bytes = await evidence.getMany([...new Set(group.flatMap(digestsOf))]);
  let [batch, rows]: [Movements[], number] = [[], 0];
  let [events, items] = [0, 0];
  for (const event of group) {
    const movements = readMovements(event, bytes, documents);
    batch.push(movements);
    gathered.push(movements);
    rows += movements.items.length;
    items += movements.items.length;
    events += 1;
    if (items >= mostItems) break;
    if (rows < ROWS_AT_ONCE) continue;
    await writeMovements(tx, batch);
    [batch, rows] = [[], 0];
  }
  await writeMovements(tx, batch);
  return { events, items };
}

function digestsOf(event: Telling): Sha256[] {
  if (event.type === 'ContainerContentObserved') return [event.data.contentSha256];
  return [event.data.documentSha256, event.data.receiptSha256].filter((one) => one !== undefined);
}

/** Ours, those of others of which there are bytes that tell, and what the registry told of containers. */
function tellsItems(event: Typed): event is Typed & Telling {
  if (event.type === 'DocumentConcluded' || event.type === 'ConclusionRevised') return true;
  if (event.type === 'ContainerContentObserved') return true;
  return event.type === 'InboundConcluded' && tellsMovements(event);
}

function readMovements(event: Telling, bytes: Map<Sha256, Buffer>, documents: DocumentReading): Movements {
  if (event.type === 'ContainerContentObserved')
    return contentMovementsOf(event, readToldContent(present(bytes, event.data.contentSha256, event)));
  const { documentSha256, receiptSha256 } = event.data;
  const xml = present(bytes, documentSha256 as Sha256, event);
  if (event.type === 'InboundConcluded') {
    // A receipt that could not be read is kept all the same; only one that told the outcome is read here.
    const hasTold =
      receiptSha256 !== undefined && event.data.outcome !== 'undetermined' && event.data.outcome !== 'failed';
    const receipt = hasTold ? documents.readReceipt(present(bytes, receiptSha256, event)) : undefined;
    return inboundMovementsOf(event, { facts: documents.readForeignDocument(xml), receipt }, documents);
  }
  const receipt = receiptSha256 === undefined ? undefined : documents.readReceipt(present(bytes, receiptSha256, event));
  return movementsOf(event, { facts: documents.readDocument(xml, documentSha256 as Sha256), receipt }, documents);
}

function present(bytes: Map<Sha256, Buffer>, sha256: Sha256, event: Telling): Buffer {
  const found = bytes.get(sha256);
  if (found === undefined)
    throw new Error(
      `evidence ${sha256}, named by ${event.type} at position ${event.position} of ${event.stream}, is missing`,
    );
  return found;
}

async function writeMovements(tx: Transaction, batch: Movements[]): Promise<void> {
  await MOVEMENT_DOCUMENT.copy(
    tx,
    batch.map(({ document }) => document),
  );
  await MOVEMENT_EFFECT.copy(
    tx,
    batch.flatMap(({ document: { knownFrom }, effects }) =>
      effects.map((one, effect) => ({ knownFrom, effect, ...one })),
    ),
  );
  await ITEM_MOVEMENT.copy(
    tx,
    batch.flatMap(({ items }) => items),
  );
  await CONTAINMENT.copy(tx, batch.flatMap(packings));
}

function packings({ effects, items }: Movements): ContainmentRow[] {
  return items.flatMap(({ knownFrom, effect, ordinal, item }) => {
    const parent = effects[effect]?.container;
    return parent === undefined ? [] : [{ knownFrom, ordinal, child: item, parent }];
  });
}

/** In a page a document may be taken twice (found again after a second attempt): the later id stands. */
async function writeSent(tx: Transaction, events: (RecordedEvent & DocumentSent)[]): Promise<void> {
  const ids = new Map(events.map((event) => [requestIdOfStream(event.stream), event.data.documentId]));
  await SENT_DOCUMENT.write(
    tx,
    [...ids].map(([requestId, documentId]) => ({ requestId, documentId })),
  );
}

/**
 * What counted as the truth until a revision of ours did so up to the revision's position; a notification may carry the
 * same request_id and is left alone. Runs last, when the page's own rows are there.
 */
async function closeRevised(tx: Transaction, revisions: Conclusion[]): Promise<bigint[]> {
  if (revisions.length === 0) return [];
  const { rows } = await tx.query<{ known_from: bigint }>(
    `UPDATE movement_document d SET known_to = revised.position
     FROM (
       SELECT old.known_from, min(r.position) AS position
       FROM unnest($1::text[], $2::bigint[]) AS r (request_id, position)
       JOIN movement_document old ON old.request_id = r.request_id AND old.known_from < r.position
         AND old.known_to IS NULL AND old.document_id IS NULL
       GROUP BY old.known_from
     ) revised
     WHERE d.known_from = revised.known_from RETURNING d.known_from`,
    [revisions.map((event) => requestIdOfStream(event.stream)), revisions.map((event) => event.position)],
  );
  return rows.map((row) => row.known_from);
}
