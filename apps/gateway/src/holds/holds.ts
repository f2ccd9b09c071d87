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
  type DocumentReference,
  type DocumentState,
  type GroupEvent,
  type GroupState,
  suspensionsOf,
  type Hold,
  type PersonHold,
  type Waiting,
} from '#domain';
import type { Actor, TypedEvent } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import { acknowledgedAmong } from '../intake/command-table.js';
import { streamEvents } from '../stream-events.js';
import { plannedGroupEnd, type GroupEnd } from './group-ends.js';
import { INTERNAL_LANE, type WorkerAccess } from '../worker-access.js';

export type Decision = 'release' | 'end';

/** What a person decided, on what. */
interface Decided {
  requestId: string;
  decision: Decision | 'hold';
  heldFor: { commandId: string; requestId: string; outcome: string }[];
  /** Where the state of its packs holds it: the first of them, and how many. */
  heldAtGate?: { packs: string[]; packCount: number };
  /** Where suspensions hold it, and how many packs they concern. */
  heldForSuspension?: { suspensions: string[]; packCount: number };
  heldByPerson?: { by: string; reason: string };
  /** What it comes after, and of which nothing is known: it does not wait for that any more. */
  missing?: DocumentReference[];
  /** Of a group that nothing held: nobody knew whether it had begun, or it had halted before its start. */
  start?: 'unconfirmed' | 'halted';
  inWork?: true;
}

interface Found {
  phase: string;
  /** Of a member: what it waits with. */
  groupId?: string | undefined;
  waiting: Waiting | undefined;
  /** Of the newest event by which it was held: what is decided is decided about that. */
  heldAt: number;
  /** Of its newest event. */
  version: number;
}

/**
 * What a person decides about documents and groups that are held: by a bad end of their predecessors, at the gate, for
 * suspensions, or by a person; or that wait for a command which never came. The worker does it: it alone writes to
 * their streams.
 */
export class Holds {
  constructor(private readonly options: WorkerAccess) {}

  /**
   * Releases it, or ends it as failed, for what it is held for at this moment. Where nothing holds it, the decision is
   * about what it comes after and never came: who looks at a hold says nothing of that. The same decision about the
   * same hold again is a no-op.
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
    const { missing, notRun } = held.length === 0 ? await this.unknown(found.waiting) : { missing: [], notRun: [] };
    if (held.length + missing.length === 0)
      throw refusal('not_held', requestId, `${noun} ${requestId} ${await this.nothingToDecide(found, notRun)}`);
    const { pool, queue } = this.options;
    const payload = {
      requestId,
      ...(noun === 'group' ? { isGroup: true as const } : {}),
      decision,
      predecessors: held.map(holdIdOf),
      ...(missing.length === 0 ? {} : { missing: missing.map((one) => one.requestId) }),
      actor,
      reason,
    };
    const about = missing.length === 0 ? found.heldAt : `missing:${found.version}`;
    const key = `decide_hold:${requestId}:${about}:${decision}`;
    await queue.schedule(pool, [{ key, kind: 'decide_hold', lane: INTERNAL_LANE, dueAt: new Date(0), payload }]);
    return { ...{ requestId, decision }, ...whyHeld(held), ...(missing.length === 0 ? {} : { missing }) };
  }

  /**
   * Ends a group: one that is held, as any other; one of which nobody knows whether it has begun; and, with `inWork`,
   * also what the registry shows as in work.
   * @throws PedigreeError not_found, not_held.
   */
  async endGroup(groupId: string, asked: GroupEnd): Promise<Decided> {
    const planned = await plannedGroupEnd(this.options, groupId, asked);
    const { reason, actor, inWork } = asked;
    if (planned === undefined) return this.decide('group', groupId, { decision: 'end', reason, actor });
    const { key, payload, start } = planned;
    const { pool, queue } = this.options;
    await queue.schedule(pool, [{ key, kind: 'decide_hold', lane: INTERNAL_LANE, dueAt: new Date(0), payload }]);
    return { requestId: groupId, decision: 'end', heldFor: [], start, ...defined({ inWork }) };
  }

  /** A member that was not sent waits with its group, and is held with it: its own stream tells nothing of that. */
  private async nothingToDecide(found: Found, notRun: DocumentReference[]): Promise<string> {
    const { groupId, phase } = found;
    const isOfGroup = groupId !== undefined && (phase === 'ready' || phase === 'sent');
    const group = isOfGroup ? await this.find('group', groupId) : undefined;
    if (group?.phase === 'unconfirmed')
      return `is a member of the group ${groupId}, of which nobody knows whether it has begun: end the group instead`;
    if (group?.waiting === undefined) return `is not held: ${whyNotHeld(found, notRun)}`;
    const stands = group.waiting.holds.length > 0 ? 'is held' : 'waits';
    return `is a member of the group ${groupId}, which ${stands}: release or end the group instead`;
  }

  /** What it comes after, and that is neither a document nor a group here: it never came, or is not run yet. */
  private async unknown(waiting: Waiting | undefined): Promise<Record<'missing' | 'notRun', DocumentReference[]>> {
    const after = (waiting?.waitingFor ?? []).filter((one) => !('items' in one));
    const looked = await Promise.all(
      after.map(async ({ commandId, requestId }) => {
        const phases = await Promise.all([this.find('document', requestId), this.find('group', requestId)]);
        return phases.every(({ phase }) => phase === 'absent') ? [{ commandId, requestId }] : [];
      }),
    );
    const unknown = looked.flat();
    const acknowledged = await acknowledgedAmong(
      this.options.pool,
      unknown.map((one) => one.requestId),
    );
    return {
      missing: unknown.filter((one) => !acknowledged.has(one.requestId)),
      notRun: unknown.filter((one) => acknowledged.has(one.requestId)),
    };
  }

  /**
   * Holds a document that was not sent, until a person releases it. Where its send begins meanwhile, it is sent. Who
   * holds it by another reason, or as another person, before that is done is refused: one reason is kept.
   * @throws PedigreeError not_found, not_holdable.
   */
  async hold(requestId: string, { reason, actor }: { reason: string; actor: Actor }): Promise<Decided> {
    const events = await streamEvents<DocumentEvent>(this.options.store, documentStream(requestId));
    const state = events.reduce(evolve, ABSENT);
    if (state.phase === 'absent') throw refusal('not_found', requestId, `no document has the id ${requestId}`);
    const why = whyNotHoldable(state);
    if (why !== undefined) throw refusal('not_holdable', requestId, `document ${requestId} cannot be held: ${why}`);
    const { pool, queue } = this.options;
    const key = `hold_document:${requestId}:${events.at(-1)?.version ?? 0}`;
    const payload = { requestId, actor, reason, holds: 'gate' in state ? (state.gate?.holds ?? 0) : 0 };
    await queue.schedule(pool, [{ key, kind: 'hold_document', lane: INTERNAL_LANE, dueAt: new Date(0), payload }]);
    const kept = (await this.scheduledHold(key)) ?? (await this.personHold(requestId)) ?? { by: actor.name, reason };
    if (kept.by !== actor.name || kept.reason !== reason)
      throw refusal('not_holdable', requestId, `document ${requestId} cannot be held: ${heldAlready(kept)}`);
    return { requestId, decision: 'hold', heldFor: [] };
  }

  /** Who holds it by this task; undefined once it is done. */
  private async scheduledHold(key: string): Promise<HeldBy | undefined> {
    const { rows } = await this.options.pool.query<{ payload: string }>('SELECT payload FROM task WHERE key = $1', [
      key,
    ]);
    if (rows[0] === undefined) return undefined;
    const { actor, reason } = JSON.parse(rows[0].payload) as { actor: Actor; reason: string };
    return { by: actor.name, reason };
  }

  private async personHold(requestId: string): Promise<HeldBy | undefined> {
    const events = await streamEvents<DocumentEvent>(this.options.store, documentStream(requestId));
    return heldBy(events.reduce(evolve, ABSENT));
  }

  private async find(noun: 'document' | 'group', requestId: string): Promise<Found> {
    const { store } = this.options;
    if (noun === 'group')
      return foundIn(await streamEvents<GroupEvent>(store, groupStream(requestId)), evolveGroup, NO_GROUP);
    const events = await streamEvents<DocumentEvent>(store, documentStream(requestId));
    const registered = events.find((event) => event.type === 'DocumentRegistered');
    return { ...foundIn(events, evolve, ABSENT), groupId: registered?.data.group?.groupId };
  }
}

function foundIn<State extends DocumentState | GroupState, Event extends { type: string }>(
  events: TypedEvent<Event>[],
  evolve: (state: State, event: Event) => State,
  absent: State,
): Found {
  const heldAt = events.findLast(({ type }) => type === 'DocumentHeld' || type === 'GroupHeld')?.version ?? -1;
  const state = events.reduce(evolve, absent);
  const version = events.at(-1)?.version ?? -1;
  return { phase: state.phase, waiting: state.phase === 'waiting' ? state : undefined, heldAt, version };
}

function whyHeld(held: Hold[]): Omit<Decided, 'requestId' | 'decision'> {
  const gate = held.find((one) => one.kind === 'gate');
  const suspension = held.find((one) => one.kind === 'suspension');
  const person = held.find((one) => one.kind === 'person');
  return {
    heldFor: held.filter(isForPredecessor).map(({ for: predecessor, outcome }) => ({ ...predecessor, outcome })),
    ...defined({
      heldAtGate: gate && { packs: gate.packs.map((one) => one.item), packCount: gate.packCount },
      heldForSuspension: suspension && {
        suspensions: suspensionsOf(suspension),
        packCount: suspension.packCount,
      },
      heldByPerson: person && { by: person.by, reason: person.reason },
    }),
  };
}

function whyNotHoldable(state: Exclude<DocumentState, { phase: 'absent' }>): string | undefined {
  if (state.phase !== 'ready' && state.phase !== 'waiting') return `it is ${state.phase}`;
  const { group } = state.registration;
  if (group !== undefined) return `it is a member of the group ${group.groupId}, and goes with it`;
  const held = heldBy(state);
  return held && heldAlready(held);
}

type HeldBy = Pick<PersonHold, 'by' | 'reason'>;

const heldBy = (state: DocumentState): HeldBy | undefined =>
  state.phase === 'waiting' ? state.holds.find((one) => one.kind === 'person') : undefined;

const heldAlready = ({ by, reason }: HeldBy): string => `${by} holds it already: ${reason}`;

const refusal = (code: 'not_found' | 'not_held' | 'not_holdable', requestId: string, message: string): PedigreeError =>
  new PedigreeError(code, message, { field: 'requestId', item: requestId });

function whyNotHeld({ phase, waiting }: Found, notRun: DocumentReference[]): string {
  if (waiting === undefined) return `it is ${phase}`;
  const isNotRun = (id: string): boolean => notRun.some((one) => one.requestId === id);
  const awaited = waiting.waitingFor.map(({ commandId, requestId }) =>
    isNotRun(requestId) ? `${commandId} is acknowledged and not run yet` : `${commandId} has not concluded`,
  );
  return `it waits: ${awaited.join(', ')}`;
}
