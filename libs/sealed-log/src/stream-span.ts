import { defined } from '#kernel';
import type { RecordedEvent } from '#event-store';
import type { LeafForm } from '#proofs';
import type { ProofSource } from './best-checkpoint.js';
import { LeafPlaces } from './leaf-place.js';

/** An event, and its leaf: undefined where it is not sealed yet. */
export interface Placed {
  event: RecordedEvent;
  leaf: number | undefined;
  form: LeafForm;
}

/** A stream, or one of its events. */
export interface StreamPart {
  stream: string;
  /** Version of the one event that is asked for; undefined: all of them. */
  only?: number | undefined;
}

/** Where a part of a stream begins, as a proof says it; of a whole stream nothing. */
export const fromOf = ({ only }: Pick<StreamPart, 'only'>): { from?: number } => defined({ from: only });

/** How much of a stream a proof has. */
export interface StreamSpan extends StreamPart {
  /** The first events, which the newest checkpoint covers. */
  sealed: number;
  /** Those behind them. */
  behind: number;
  /** Of the last event that is sealed; -1 where none is. */
  lastLeaf: number;
  /** How many of all events are not behind the position that was asked about. */
  upTo: number;
  /** All of its events, where they were kept: those of a short stream are not read twice. */
  events: Placed[] | undefined;
}

const PAGE_EVENTS = 500;
/** A document has less than ten. */
const FIRST_EVENTS = 100;
/** Streams whose beginnings are read together. */
const STREAMS_TOGETHER = 20;
/** Events of all streams of a proof that are kept until they are proven. */
const MOST_KEPT = 500;

/** The beginning of a stream, or its one event. */
interface StreamBeginning extends StreamPart {
  events: RecordedEvent[];
}

export const beginningOf = async ({ store }: ProofSource, part: StreamPart): Promise<StreamBeginning> => ({
  ...part,
  events: await store.readStream(part.stream, pageOf(part, FIRST_EVENTS)),
});

const pageOf = ({ only }: StreamPart, most: number): { fromVersion: number; limit: number } =>
  only === undefined ? { fromVersion: 0, limit: most } : { fromVersion: only, limit: 1 };

interface UpTo {
  size: number;
  position?: bigint;
}

/** How many events of these streams a checkpoint of this size covers. */
export async function spansOf(source: ProofSource, parts: StreamPart[], upTo: UpTo): Promise<StreamSpan[]> {
  const spans: StreamSpan[] = [];
  let left = MOST_KEPT;
  for (let at = 0; at < parts.length; at += STREAMS_TOGETHER) {
    const together = parts.slice(at, at + STREAMS_TOGETHER);
    const beginnings = await Promise.all(together.map((part) => beginningOf(source, part)));
    for (const span of await spansFrom(source, beginnings, upTo)) {
      const isKept = span.events !== undefined && span.events.length <= left;
      left -= isKept ? (span.events as Placed[]).length : 0;
      spans.push(isKept ? span : { ...span, events: undefined });
    }
  }
  return spans;
}

/** The same where the beginnings of the streams were read already. */
export async function spansFrom(source: ProofSource, beginnings: StreamBeginning[], upTo: UpTo): Promise<StreamSpan[]> {
  const all = beginnings.flatMap(({ events }) => events);
  const places = await new LeafPlaces(source.pool, source.store).ofAll(all);
  const spans: StreamSpan[] = [];
  let at = 0;
  for (const { events, ...part } of beginnings) {
    const first = events.map((event, n) => placedAt(event, places[at + n]));
    at += events.length;
    const isWhole = part.only !== undefined || events.length < FIRST_EVENTS;
    const span = { ...part, sealed: 0, behind: 0, lastLeaf: -1, upTo: 0, events: isWhole ? first : undefined };
    extend(span, first, upTo);
    if (!isWhole) for await (const page of placedPages(source, part, FIRST_EVENTS)) extend(span, page, upTo);
    spans.push(span);
  }
  return spans;
}

function extend(span: StreamSpan, page: Placed[], { size, position }: UpTo): void {
  for (const { event, leaf } of page) {
    if (position === undefined || event.position <= position) span.upTo += 1;
    if (span.behind > 0 || leaf === undefined || leaf >= size) span.behind += 1;
    else [span.sealed, span.lastLeaf] = [span.sealed + 1, leaf];
  }
}

/** The events of a stream from a version on, or its one event, each with its leaf, in order, a page at a time. */
export async function* placedPages(
  { pool, store }: ProofSource,
  part: StreamPart,
  firstVersion?: number,
): AsyncGenerator<Placed[]> {
  const places = new LeafPlaces(pool, store);
  const page = pageOf(part, PAGE_EVENTS);
  for (let fromVersion = firstVersion ?? page.fromVersion; ;) {
    const events = await store.readStream(part.stream, { ...page, fromVersion });
    const found = await places.ofAll(events);
    yield events.map((event, n) => placedAt(event, found[n]));
    const last = events.at(-1);
    if (last === undefined || events.length < PAGE_EVENTS) return;
    fromVersion = last.version + 1;
  }
}

const placedAt = (event: RecordedEvent, place: { leaf: number; form: LeafForm } | undefined): Placed => ({
  event,
  leaf: place?.leaf,
  form: place?.form ?? 2,
});
