import {
  ABSENT,
  documentStream,
  evolve,
  evolveGroup,
  groupStream,
  holdIdOf,
  isForPredecessor,
  NO_GROUP,
  type DocumentEvent,
  type DocumentState,
  type GroupEvent,
  type GroupState,
  type Waiting,
  type PlannedTask,
} from '#domain';
import type { Actor, EventStore, TypedEvent } from '#event-store';
import { PedigreeError } from '#kernel';
import type { Pool } from '#postgres';
import type { TaskQueue } from '#tasks';
import { streamEvents } from '../stream-events.js';

export interface HoldsOptions {
  pool: Pool;
  store: Pick<EventStore, 'readStream'>;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'>;
}

export type Decision = 'release' | 'end';

/** What a person decided, on what. */
export interface Decided {
  requestId: string;
  decision: Decision;
  heldFor: { commandId: string; requestId: string; outcome: string }[];
  /** Where the state of its packs holds it: the first of them, and how many. */
  heldAtGate?: { packs: string[]; packCount: number };
}

interface Found {
  phase: string;
  waiting: Waiting | undefined;
  /** Of the newest event by which it was held: what is decided is decided about that. */
  heldAt: number;
}

/** The lane of apps/worker in which work without a registry call is done. */
const INTERNAL_LANE = 'internal';

/**
 * What a person decides about documents and groups that a bad end of their predecessors holds. The worker does it: it
 * alone writes to their streams.
 */
export class Holds {
  constructor(private readonly options: HoldsOptions) {}

  /**
   * Releases it, or ends it as failed, for what it is held for at this moment. The same decision about the same hold
   * again is a no-op.
   * @throws PedigreeError not_found, not_held.
   */
  async decide(
    noun: 'document' | 'group',
    requestId: string,
    asked: { decision: Decision; reason: string; actor: Actor },
  ): Promise<Decided> {
    const { decision, reason, actor } = asked;
    const found = await this.find(noun, requestId);
    if (found.phase === 'absent') throw refusal('not_found', requestId, `no ${noun} has the id ${requestId}`);
    const held = found.waiting?.holds ?? [];
    if (held.length === 0)
      throw refusal('not_held', requestId, `${noun} ${requestId} is not held: ${whyNotHeld(found)}`);
    const { pool, queue } = this.options;
    const payload = {
      requestId,
      ...(noun === 'group' ? { isGroup: true as const } : {}),
      decision,
      predecessors: held.map(holdIdOf),
      actor,
      reason,
    };
    const key = `decide_hold:${requestId}:${found.heldAt}:${decision}`;
    await queue.schedule(pool, [{ key, kind: 'decide_hold', lane: INTERNAL_LANE, dueAt: new Date(0), payload }]);
    const gate = held.find((one) => one.kind === 'gate');
    return {
      ...{ requestId, decision },
      heldFor: held.filter(isForPredecessor).map(({ for: predecessor, outcome }) => ({ ...predecessor, outcome })),
      ...(gate === undefined
        ? {}
        : { heldAtGate: { packs: gate.packs.map((one) => one.item), packCount: gate.packCount } }),
    };
  }

  private async find(noun: 'document' | 'group', requestId: string): Promise<Found> {
    return noun === 'document'
      ? foundIn(await streamEvents<DocumentEvent>(this.options.store, documentStream(requestId)), evolve, ABSENT)
      : foundIn(await streamEvents<GroupEvent>(this.options.store, groupStream(requestId)), evolveGroup, NO_GROUP);
  }
}

function foundIn<State extends DocumentState | GroupState, Event extends { type: string }>(
  events: TypedEvent<Event>[],
  evolve: (state: State, event: Event) => State,
  absent: State,
): Found {
  const heldAt = events.findLast(({ type }) => type === 'DocumentHeld' || type === 'GroupHeld')?.version ?? -1;
  const state = events.reduce(evolve, absent);
  return { phase: state.phase, waiting: state.phase === 'waiting' ? state : undefined, heldAt };
}

const refusal = (code: 'not_found' | 'not_held', requestId: string, message: string): PedigreeError =>
  new PedigreeError(code, message, { field: 'requestId', item: requestId });

function whyNotHeld({ phase, waiting }: Found): string {
  if (waiting === undefined) return `it is ${phase}`;
  return `it waits for ${waiting.waitingFor.map((one) => one.commandId).join(', ')}, which has not concluded`;
}
