import {
  CASE_STREAM_PREFIX,
  GROUP_STREAM_PREFIX,
  REFUSAL_STREAM_PREFIX,
  STOCK_UPLOAD_STREAM_PREFIX,
  SUSPENSION_STREAM_PREFIX,
  type GroupRegistration,
} from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import { installationId } from '#postgres';
import type { Projection } from '#subscriptions';
import { PAGE_BOUNDS, withinBytes, type PageBounds } from '../page-bounds.js';
import type { DocumentReading } from '../sgtin-history/movements.js';
import { outcomeIdOf, sequenceOf, sourceOf, type OutcomeEvent } from './cloud-event.js';
import { caseTold } from './case-outcomes.js';
import { stockUploaded } from './stock-outcomes.js';
import { suspensionTold } from './suspension-outcomes.js';
import { historyOf } from './history.js';
import { digestsOf, readConclusion } from './items.js';
import {
  GROUP_OUTCOME_TABLE,
  isPart,
  OUTCOME_EVENTS,
  OUTCOME_STREAMS,
  OUTCOME_TABLE,
  type Known,
} from './outcome-table.js';
import { isConclusion, readParts } from './parts.js';
import { OUTCOME, OUTCOME_REMOVED, type OutcomeRow } from './row.js';
import { commandRefused } from './refusals.js';
import { ENDS_SPLIT, endsSplit, groupOf } from './split.js';
import type { OutcomePayload } from './outcome-payload.js';

export interface OutboxOptions {
  evidence: EvidenceStore;
  documents: DocumentReading;
  store: Pick<EventStore, 'readStream'>;
  /** Default: PAGE_BOUNDS. */
  bounds?: PageBounds;
}

/** Documents whose streams and evidence are in memory at once. */
const OUTCOMES_AT_ONCE = 20;

/**
 * Feeds the outbox: each event that the ERP is told of becomes one CloudEvent, written in the transaction that moves
 * the checkpoint. It is a pure function of log, evidence and installation, so that a rebuild gives the same bytes under
 * the same ids; cursors that deliver from it hold log positions and stay right. Missing evidence throws: the outbox
 * halts loudly rather than tell half an outcome.
 */
export function outboxProjection(options: OutboxOptions): Projection {
  return {
    name: 'outbox',
    filter: { streamPrefixes: OUTCOME_STREAMS, types: OUTCOME_EVENTS },
    project: async (events, tx) => {
      const installation = await installationId(tx);
      const { evidence, store, bounds = PAGE_BOUNDS } = options;
      const read = new Map(
        await Promise.all(events.map(async (event) => [event, await readFor(event, store)] as const)),
      );
      const fitting = await withinBytes(events, (event) => read.get(event) ?? [], { evidence, bytes: bounds.bytes });
      for (let from = 0; from < fitting; from += OUTCOMES_AT_ONCE) {
        await OUTCOME.write(
          tx,
          await rowsOf(events.slice(from, Math.min(fitting, from + OUTCOMES_AT_ONCE)), installation, options),
        );
      }
      return fitting;
    },
    tables: [OUTCOME.name, OUTCOME_REMOVED.name],
    removal: {
      table: OUTCOME.name,
      column: 'position',
      record: { table: OUTCOME_REMOVED.name, column: 'up_to' },
      // The least that PEDIGREE_OUTCOMES_KEPT_DAYS takes.
      recorded: { column: 'recorded_at', leastAgeHours: 24 },
    },
  };
}

/**
 * Evidence that is read for an event. At the end of a document that was split all of its parts are, however long ago
 * they concluded: together they are about as long as the document was.
 */
async function readFor(event: RecordedEvent, store: OutboxOptions['store']): Promise<Sha256[]> {
  if (isConclusion(event)) return digestsOf(event);
  if (!ENDS_SPLIT.includes(event.type)) return [];
  const [registered] = await store.readStream(event.stream, { limit: 1 });
  const { original } = (registered?.data ?? {}) as Partial<GroupRegistration>;
  return original === undefined ? [] : [original.documentSha256];
}

async function rowsOf(events: RecordedEvent[], installation: string, options: OutboxOptions): Promise<OutcomeRow[]> {
  const { evidence, store } = options;
  const histories = await Promise.all(events.map(({ stream, position }) => historyOf(store, stream, position)));
  const each = events
    .map((event, i) => ({ event, history: histories[i] as RecordedEvent[] }))
    .filter(({ event, history }) => !(isConclusion(event) && isPart(history)));
  const bytes = await evidence.getMany([
    ...new Set(
      each
        .map(({ event }) => event)
        .filter(isConclusion)
        .flatMap(digestsOf),
    ),
  ]);
  const rows: OutcomeRow[] = [];
  for (const { event, history } of each) {
    const told = await toldOf({ event, history }, bytes, options);
    if (told === undefined) continue;
    const { position, recordedAt } = event;
    const { type, topic, subject } = told;
    const envelope = envelopeOf(event, told, installation);
    rows.push({ position, id: envelope.id, type, topic, subject, body: JSON.stringify(envelope), recordedAt });
  }
  return rows;
}

async function toldOf(
  known: Known,
  bytes: Map<Sha256, Buffer>,
  options: OutboxOptions,
): Promise<OutcomePayload | undefined> {
  const { stream } = known.event;
  if (stream.startsWith(REFUSAL_STREAM_PREFIX)) return commandRefused(known.event);
  if (stream.startsWith(STOCK_UPLOAD_STREAM_PREFIX)) return stockUploaded(known.event);
  if (stream.startsWith(CASE_STREAM_PREFIX)) return caseTold(known.history);
  if (stream.startsWith(SUSPENSION_STREAM_PREFIX)) return suspensionTold(known.history);
  return stream.startsWith(GROUP_STREAM_PREFIX)
    ? groupTold(known.history, options)
    : documentTold(known, bytes, options);
}

function documentTold(known: Known, bytes: Map<Sha256, Buffer>, { documents }: OutboxOptions): OutcomePayload {
  const { event } = known;
  const tell = OUTCOME_TABLE[event.type as keyof typeof OUTCOME_TABLE] ?? noLine(event);
  return tell({ ...known, ...(isConclusion(event) ? { read: readConclusion(event, bytes, documents) } : {}) });
}

/** Of a document that was split, what became of the items is read from its parts. */
async function groupTold(history: RecordedEvent[], options: OutboxOptions): Promise<OutcomePayload | undefined> {
  const group = groupOf(history);
  const { event, state } = group;
  const tell = GROUP_OUTCOME_TABLE[event.type as keyof typeof GROUP_OUTCOME_TABLE] ?? noLine(event);
  const { groupId, members } = state.registration;
  const read = endsSplit(group)
    ? await readParts({ ...options, groupId, parts: members, upTo: event.position })
    : undefined;
  return tell({ ...group, read });
}

function noLine({ type }: RecordedEvent): never {
  throw new Error(`the outcome table has no line for ${type}`);
}

const envelopeOf = (
  event: RecordedEvent,
  { type, subject, data }: OutcomePayload,
  installation: string,
): OutcomeEvent => ({
  specversion: '1.0',
  id: outcomeIdOf(event.id, installation),
  source: sourceOf(installation),
  type,
  subject,
  time: event.recordedAt.toISOString(),
  sequence: sequenceOf(event.position),
  datacontenttype: 'application/json',
  data,
});
