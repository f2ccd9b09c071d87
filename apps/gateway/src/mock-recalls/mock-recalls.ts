import { randomUUID } from 'node:crypto';
import { mockRecallStream, type MockRecallEvent } from '#domain';
import { newEvent, type Actor, type EventStore, type NewEvent, type RecordedEvent, type Says } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { canonicalJson, PedigreeError, uuid5, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import {
  knownUpTo,
  mockRecallOf,
  mockRecallStreams,
  type MockRecallSummary,
  type Page,
  type ReadModels,
  type TracedSeries,
} from '#read-models';

export interface MockRecallsOptions {
  pool: Pool;
  store: Pick<EventStore, 'append' | 'readStream'>;
  evidence: Pick<EvidenceStore, 'put' | 'get'>;
  readModels: Pick<ReadModels, 'packs'>;
  installationId: string;
  says: Says;
  clock: Clock;
  /** For so long the record of packs is waited for within one call. */
  patienceMs?: number;
}

type MockRecallTold = MockRecallSummary & Partial<Pick<TracedSeries, 'lines'>>;

const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 100;

/**
 * Mock recalls: how long until it is known where every pack of a series is. It begins in the log, and the answer counts
 * only once the record of packs holds all that was in the log by then.
 */
export class MockRecalls {
  constructor(private readonly options: MockRecallsOptions) {}

  /** Begins one, and traces it where the record catches up in time; else `trace` goes on with it. */
  async begin(asked: { gtin: string; series: string; reason: string }, actor: Actor): Promise<MockRecallTold> {
    const { reason, ...product } = asked;
    const recallId = randomUUID();
    const begun = this.envelope({ type: 'MockRecallBegun', data: { recallId, ...product } }, { actor, reason });
    await this.options.store.append(mockRecallStream(recallId), 'none', [begun]);
    return this.trace(recallId, actor);
  }

  /** Answers one that has begun. One that is answered stays as it is. @throws PedigreeError `not_found`. */
  async trace(recallId: string, actor: Actor): Promise<MockRecallTold> {
    const { store, readModels, evidence, clock } = this.options;
    const [begun, answered] = await this.eventsOf(recallId);
    if (begun === undefined || answered !== undefined) return this.one(recallId);
    const { gtin, series } = begun.data as { gtin: string; series: string };
    const fromMs = clock.monotonicMs();
    if (!(await this.caughtUp(begun.position))) return this.one(recallId);
    const caughtUpMs = clock.monotonicMs();
    const traced = await readModels.packs.trace(gtin, series, clock.now());
    const { knownAt, packs, seriesUnknown, containersUnknown, places } = traced;
    const contentSha256 = await evidence.put(Buffer.from(canonicalJson(traced)), 'application/json');
    const [waitedMs, countedMs] = [caughtUpMs - fromMs, clock.monotonicMs() - caughtUpMs].map(Math.round);
    const data = {
      ...{ recallId, gtin, series, knownAt, packs, seriesUnknown, containersUnknown, places, contentSha256 },
      ...{ waitedMs: waitedMs as number, countedMs: countedMs as number },
    };
    // Somebody else may have answered it meanwhile: that answer stays.
    await store.append(mockRecallStream(recallId), 0, [this.envelope({ type: 'MockRecallTraced', data }, { actor })]);
    return this.one(recallId);
  }

  /** @throws PedigreeError `not_found`. */
  async one(recallId: string): Promise<MockRecallTold> {
    const told = mockRecallOf(await this.eventsOf(recallId));
    if (told === undefined)
      throw new PedigreeError('not_found', `no mock recall is called ${recallId}`, {
        ...{ field: 'recallId', item: recallId },
      });
    if (told.contentSha256 === undefined) return told;
    const kept = await this.options.evidence.get(told.contentSha256);
    if (kept === undefined) throw new Error(`the answer ${told.contentSha256} is missing from the evidence store`);
    return { ...told, lines: (JSON.parse(kept.bytes.toString()) as TracedSeries).lines };
  }

  /** The newest first, without their lines. */
  async list(query: { limit?: number; cursor?: string }): Promise<Page<MockRecallSummary>> {
    const { pool, store } = this.options;
    const { items, ...page } = await mockRecallStreams(pool, query);
    const told: MockRecallSummary[] = [];
    for (const stream of items) {
      const one = mockRecallOf(await store.readStream(stream, { limit: MOST_EVENTS }));
      if (one !== undefined) told.push(one);
    }
    return { ...page, items: told };
  }

  private eventsOf(recallId: string): Promise<RecordedEvent[]> {
    return this.options.store.readStream(mockRecallStream(recallId), { limit: MOST_EVENTS });
  }

  private async caughtUp(position: bigint): Promise<boolean> {
    const { pool, clock, patienceMs = PATIENCE_MS } = this.options;
    const untilMs = clock.monotonicMs() + patienceMs;
    while ((await knownUpTo(pool)) < position) {
      if (clock.monotonicMs() >= untilMs) return false;
      await clock.wait(LOOK_EVERY_MS);
    }
    return true;
  }

  private envelope(event: MockRecallEvent, by: { actor: Actor; reason?: string }): NewEvent {
    const { installationId, says, clock } = this.options;
    const stream = mockRecallStream(event.data.recallId);
    const id = uuid5(`${stream}/${event.type}/${canonicalJson(event.data)}`, installationId);
    return newEvent(event, { says, ...by, at: clock.now(), id, correlationId: stream, causationId: stream });
  }
}

/** It begins, and it is answered. */
const MOST_EVENTS = 2;
