import { randomUUID } from 'node:crypto';
import type {
  AppendResult,
  EventFilter,
  EventMetadata,
  EventStore,
  ExpectedVersion,
  NewEvent,
  RecordedEvent,
} from './port.js';

export const METADATA: EventMetadata = {
  participant: '00000000000001',
  actor: { kind: 'system', name: 'contract', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: '2026-01-01T00:00:00Z',
  correlationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c11',
  causationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c12',
};

/** A fresh event; give an id to repeat one. */
export function newEvent(data: object = {}, fields: { id?: string; type?: string } = {}): NewEvent {
  return { id: fields.id ?? randomUUID(), type: fields.type ?? 'Noted', schemaVersion: 1, data, metadata: METADATA };
}

export const newStream = (prefix = 'stream'): string => `${prefix}-${randomUUID()}`;

/** Appends and demands success. */
export async function mustAppend(
  store: EventStore,
  stream: string,
  append: { expected: ExpectedVersion; events: NewEvent[] },
): Promise<Extract<AppendResult, { kind: 'appended' }>> {
  const result = await store.append(stream, append.expected, append.events);
  if (result.kind !== 'appended')
    throw new Error(`append to ${stream} at ${append.expected}: conflict at ${result.actualVersion}`);
  return result;
}

/** Everything in the log after a position, page by page. At most 10,000 pages. */
export async function readEverything(store: EventStore, after = 0n): Promise<RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  let from = after;
  for (let page = 0; page < 10_000; page += 1) {
    const { events, readUpTo } = await store.readAll(from);
    all.push(...events);
    if (readUpTo === from) return all;
    from = readUpTo;
  }
  throw new Error('the log did not end within 10,000 pages');
}

/** Follows the log from a position until `isEnough` says so; fails after `withinMs`. */
export async function follow(
  store: EventStore,
  after: bigint,
  until: { isEnough: (events: RecordedEvent[]) => boolean; withinMs: number; limit?: number; filter?: EventFilter },
): Promise<RecordedEvent[]> {
  const seen: RecordedEvent[] = [];
  const { isEnough, withinMs, ...asked } = until;
  const signal = AbortSignal.timeout(withinMs);
  for await (const page of store.subscribeAll(after, { signal, ...asked })) {
    seen.push(...page.events);
    if (isEnough(seen)) return seen;
  }
  throw new Error(`only ${seen.length} events came within ${withinMs} ms`);
}
