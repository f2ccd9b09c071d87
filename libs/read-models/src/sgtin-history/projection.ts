import {
  CONTAINER_STREAM_PREFIX,
  DOCUMENT_STREAM_PREFIX,
  INBOUND_STREAM_PREFIX,
  requestIdOfStream,
  type ContainerEvent,
} from '#domain';
import { typedEvents } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { followPacks, PACK_TABLES } from '../pack-state/follow.js';
import { PAGE_BOUNDS, type PageBounds } from '../page-bounds.js';
import { CONTENT_QUESTION, writeQuestions, type ContainerNews } from './content-question.js';
import { closeEarlier, endsEarlier } from './inbound-movements.js';
import type { Conclusion, DocumentReading } from './movements.js';
import { MovementReader } from './read-movements.js';
import { recalledBy } from './recalls.js';
import type { HistoryEvent, ReadMovements, Run } from './runs.js';
import {
  CONTAINMENT,
  isInOurName,
  ITEM_MOVEMENT,
  MOVEMENT_DOCUMENT,
  MOVEMENT_EFFECT,
  SENT_DOCUMENT,
  type SentDocumentRow,
} from './row.js';

export interface SgtinHistoryOptions {
  evidence: EvidenceStore;
  documents: DocumentReading;
  /** Default: PAGE_BOUNDS. */
  bounds?: PageBounds;
  /** Default: RUN_ITEMS. */
  runItems?: number;
}

/** Rows of items from which on a run of events ends before one that names an item again. */
export const RUN_ITEMS = 1_000;

/**
 * Keeps every item's life. What a document did is read from the evidence, not from the event: the same log and evidence
 * give the same tables. Missing or damaged evidence throws, and the projection halts loudly rather than leave a gap in
 * a pack's history.
 */
export function sgtinHistoryProjection(options: SgtinHistoryOptions): Projection {
  const { evidence, documents, bounds = PAGE_BOUNDS, runItems = RUN_ITEMS } = options;
  const reader = new MovementReader({ evidence, documents, bounds, runItems });
  return {
    name: 'sgtin-history',
    filter: {
      streamPrefixes: [DOCUMENT_STREAM_PREFIX, INBOUND_STREAM_PREFIX, CONTAINER_STREAM_PREFIX],
      types: [
        ...(['DocumentSent', 'DocumentConcluded', 'ConclusionRevised', 'InboundConcluded'] as const),
        ...['InboundRecognised', ...CONTAINER_NEWS],
      ],
    },
    readAhead: (events) => reader.begin(typedEvents<HistoryEvent>(events)),
    project: async (events, tx) => {
      const typed = typedEvents<HistoryEvent>(events);
      const { events: count, runs } = await reader.read(typed);
      const release = reader.hold();
      try {
        reader.begin(typed.slice(count));
        for (const run of runs) await projectRun(tx, run, { types: documents, onWaiting: release });
      } finally {
        release();
      }
      return count;
    },
    tables: [
      ...[SENT_DOCUMENT, MOVEMENT_DOCUMENT, MOVEMENT_EFFECT, ITEM_MOVEMENT, CONTAINMENT, CONTENT_QUESTION],
      ...PACK_TABLES,
    ].map(({ name }) => name),
  };
}

const CONTAINER_NEWS = [
  'ContainerContentAsked',
  'ContainerContentWithheld',
  'ContainerContentObserved',
  'ContainerContentUnavailable',
] as const satisfies ContainerEvent['type'][];

const isContainerNews = (event: HistoryEvent): event is ContainerNews =>
  (CONTAINER_NEWS as readonly string[]).includes(event.type);

async function projectRun(
  tx: Transaction,
  { events, movements, namedTwice }: Run,
  { types, onWaiting }: { types: SgtinHistoryOptions['documents']; onWaiting: () => void },
): Promise<void> {
  await writeMovements(tx, movements);
  await writeSent(tx, events, movements);
  await writeQuestions(tx, events.filter(isContainerNews));
  const revised = await closeRevised(
    tx,
    events.filter((event) => event.type === 'ConclusionRevised'),
  );
  const closed = [...revised, ...(await closeEarlier(tx, events.filter(endsEarlier)))];
  const recalled = await recalledBy(tx, { movements, closed });
  await followPacks(tx, { movements, namedTwice, onWaiting, closed: [...closed, ...recalled], types });
}

async function writeMovements(tx: Transaction, movements: ReadMovements[]): Promise<void> {
  const lines = (part: keyof ReadMovements['lines']): string => movements.map((one) => one.lines[part]).join('');
  await MOVEMENT_DOCUMENT.copyLines(tx, lines('document'));
  await MOVEMENT_EFFECT.copyLines(tx, lines('effects'));
  await ITEM_MOVEMENT.copyLines(tx, lines('items'));
  await CONTAINMENT.copyLines(tx, lines('containment'));
}

/**
 * What went out in our name, through this system or past it; of the latter what moved something, as in the life of a
 * pack. A document that is found again after a second attempt has the later id. A further copy of it has another one,
 * and never takes its place: else it would depend on the pages which of them stands.
 */
async function writeSent(tx: Transaction, events: HistoryEvent[], movements: ReadMovements[]): Promise<void> {
  const ids = new Map<string, string>();
  for (const { type, stream, data } of events)
    if (type === 'DocumentSent') ids.set(requestIdOfStream(stream), data.documentId);
  await SENT_DOCUMENT.write(
    tx,
    [...ids].map(([requestId, documentId]) => ({ requestId, documentId })),
  );
  const past = movements.flatMap(({ document: { documentId, requestId, channel } }): SentDocumentRow[] =>
    documentId !== undefined && requestId !== '' && isInOurName(channel) ? [{ requestId, documentId }] : [],
  );
  await SENT_DOCUMENT.add(tx, past);
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
