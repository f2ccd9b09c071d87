import { newEvent, typedEvents, type Actor, type EventStore, type NewEvent } from '#event-store';
import { canonicalJson, sha256Hex, uuid5, type Clock } from '#kernel';
import type { Candidate } from './candidate.js';

/** Why and by whom a command is given; goes into the metadata of the events that follow. */
export interface Cause {
  /** Key of the task that gives the command, and the lease under which it runs: event ids are derived from both. */
  taskKey: string;
  lease: string;
  actor: Actor;
  /** When it happened in the world; default: now. */
  effectiveAt?: Date | undefined;
  /** Where a person acted: why. */
  reason?: string | undefined;
  /** What the events may name: the bytes that they do name are stored before them. */
  candidates?: Candidate[] | undefined;
}

/** Who acts where nobody else does. */
export const SYSTEM: Actor = { kind: 'system', name: 'worker', authenticatedBy: 'process' };

/** The registry, named by the profile under which it is spoken to. */
export const registryActor = (profile: string): Actor => ({
  kind: 'registry',
  name: profile,
  authenticatedBy: 'registry-session',
});

/** The events that followed from a command, and the state they led to. */
export interface Decided<State, Event> {
  events: Event[];
  state: State;
}

/** What an installation says about itself in every event. */
export interface Installation {
  id: string;
  participant: string;
  softwareVersion: string;
  profile: string;
}

/** A aggregate of the domain, as far as its stream is concerned. */
export interface Aggregate<State, Command, Event> {
  /** For messages. */
  name: string;
  streamOf(id: string): string;
  initial: State;
  decide(state: State, command: Command): Event[];
  /** True for the command by which one comes into being. */
  begins(command: Command): boolean;
  evolve(state: State, event: Event): State;
  /** True when little more will be asked of it: it is not remembered. */
  isOver(state: State): boolean;
}

export interface RepositoryOptions {
  store: EventStore;
  clock: Clock;
  installation: Installation;
  /** Most whose state is remembered between commands. */
  maxRemembered?: number;
}

interface Remembered<State> {
  state: State;
  /** Version of the last event, -1 for none. */
  version: number;
}

const MAX_CONFLICTS = 5;
/** Events of one read of a stream, and the most reads: a registry that is away for weeks leaves long streams. */
const READ_EVENTS = 1_000;
const MAX_READS = 1_000;

/**
 * Loads an aggregate from the log, decides, appends. States are remembered between commands. A state that other
 * processes have moved on costs a version conflict and a second look, never a wrong event: the log checks the expected
 * version, and "nothing new" is believed only of the log itself.
 *
 * An event's id follows from the task, its lease, the place and the data. So an append whose answer was lost may be
 * made again under the same lease and is its own repeat. Another run of the task, or another decision, has other ids:
 * at a version that is taken it is a conflict, and is decided again.
 */
export class AggregateRepository<State, Command, Event extends { type: string; data: object }> {
  private readonly remembered = new Map<string, Remembered<State>>();
  /** What the command that begins one is decided on at first. Where there is one already, the log says so. */
  private readonly unborn: Remembered<State>;

  constructor(
    private readonly aggregate: Aggregate<State, Command, Event>,
    private readonly options: RepositoryOptions,
  ) {
    this.unborn = { state: aggregate.initial, version: -1 };
  }

  /** The state as this process last knew it; it may be old. */
  async state(id: string): Promise<State> {
    return (this.remembered.get(id) ?? (await this.readOn(id))).state;
  }

  /** The state as the log has it. */
  async stateInLog(id: string): Promise<State> {
    return (await this.readOn(id)).state;
  }

  /** The state as the log has it, and the version of the newest event. */
  async versioned(id: string): Promise<{ state: State; version: number }> {
    return this.readOn(id);
  }

  /**
   * The events that this call appended, and the state they led to; none when the command said nothing new on the newest
   * state.
   */
  async execute(id: string, command: Command, cause: Cause): Promise<Decided<State, Event>> {
    const { aggregate } = this;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const before =
        this.remembered.get(id) ?? (conflicts === 0 && aggregate.begins(command) ? this.unborn : await this.readOn(id));
      const events = aggregate.decide(before.state, command);
      if (events.length === 0) {
        const inLog = await this.readOn(id);
        if (inLog.version === before.version) return { events, state: before.state };
        continue;
      }
      await storeNamed(cause.candidates ?? [], events);
      const appended = await this.options.store.append(
        aggregate.streamOf(id),
        before.version === -1 ? 'none' : before.version,
        events.map((event, n) => this.envelope({ event, id, cause, version: before.version + 1 + n })),
      );
      if (appended.kind === 'appended') {
        const state = events.reduce(aggregate.evolve, before.state);
        this.remember(id, { state, version: appended.version });
        return { events, state };
      }
      await this.readOn(id);
    }
    throw new Error(`${aggregate.name} ${id}: ${MAX_CONFLICTS} version conflicts in a row`);
  }

  /** What is remembered, brought up to the end of the stream. */
  private async readOn(id: string): Promise<Remembered<State>> {
    const { aggregate } = this;
    let known = this.remembered.get(id) ?? this.unborn;
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const events = await this.options.store.readStream(aggregate.streamOf(id), {
        fromVersion: known.version + 1,
        limit: READ_EVENTS,
      });
      known = {
        state: typedEvents<Event>(events).reduce(aggregate.evolve, known.state),
        version: events.at(-1)?.version ?? known.version,
      };
      if (events.length < READ_EVENTS) break;
    }
    this.remember(id, known);
    return known;
  }

  private remember(id: string, one: Remembered<State>): void {
    // Deleting first moves the key to the end: the map's first key is the one untouched for longest.
    this.remembered.delete(id);
    if (this.aggregate.isOver(one.state)) return;
    this.remembered.set(id, one);
    const oldest = this.remembered.keys().next();
    if (this.remembered.size > (this.options.maxRemembered ?? 20_000) && !oldest.done)
      this.remembered.delete(oldest.value);
  }

  /**
   * What an event's id is made of. The data is part of it: what says something else is no repeat, and must be heard.
   * The metadata is not, for it carries this process's own time. The stream is: one task may speak to every member of a
   * group, and what tells of two events goes by their ids.
   */
  private nameOf({ event, id, cause, version }: { event: Event; id: string; cause: Cause; version: number }): string {
    const digest = sha256Hex(canonicalJson(event.data));
    return `${cause.taskKey}@${cause.lease}@${this.aggregate.streamOf(id)}@${version}/${event.type}/${digest}`;
  }

  private envelope(of: { event: Event; id: string; cause: Cause; version: number }): NewEvent {
    const { installation, clock } = this.options;
    const { actor, reason, effectiveAt, taskKey } = of.cause;
    const ids = { id: uuid5(this.nameOf(of), installation.id), correlationId: of.id, causationId: taskKey };
    return newEvent(of.event, { says: installation, actor, reason, at: effectiveAt ?? clock.now(), ...ids });
  }
}

/**
 * A blob is durable before the event that names it (principles 2.5). A crash in between leaves bytes that nothing
 * names, which do no harm.
 */
async function storeNamed(candidates: Candidate[], events: { data: object }[]): Promise<void> {
  if (candidates.length === 0) return;
  const texts = events.map((event) => canonicalJson(event.data));
  const named = candidates.filter((one) => texts.some((text) => one.isNamedIn(text)));
  await Promise.all(named.map((one) => one.store()));
}
