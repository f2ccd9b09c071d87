import { ABSENT, decide, documentStream, evolve, type DocumentCommand, type DocumentEvent, type DocumentState } from '#domain';
import type { Actor, EventStore, NewEvent } from '#event-store';
import { uuid5, type Clock } from '#kernel';

/** Why and by whom a command is given; goes into the metadata of the events that follow. */
export interface Cause {
  /** Key of the task that gives the command: event ids are derived from it, so that a repeat is recognised. */
  taskKey: string;
  actor: Actor;
  /** When it happened in the world; default: now. */
  effectiveAt?: Date;
}

/** What an installation says about itself in every event. */
export interface Installation {
  id: string;
  participant: string;
  softwareVersion: string;
  profile: string;
}

export interface DocumentRepositoryOptions {
  store: EventStore;
  clock: Clock;
  installation: Installation;
  /** Most documents whose state is remembered between commands. */
  maxRemembered?: number;
}

interface Remembered {
  state: DocumentState;
  /** Version of the last event, -1 for none. */
  version: number;
}

const MAX_CONFLICTS = 5;
/** Events of one read of a stream, and the most reads: a registry that is away for weeks leaves long streams. */
const READ_EVENTS = 1_000;
const MAX_READS = 1_000;

/**
 * Loads a document from the log, decides, appends. States are remembered between commands. A state that other processes have moved on
 * costs a version conflict and a second look, never a wrong event: the log checks the expected version, and "nothing new" is believed only
 * of the log itself.
 */
export class DocumentRepository {
  private readonly remembered = new Map<string, Remembered>();

  constructor(private readonly options: DocumentRepositoryOptions) {}

  /** The state as this process last knew it; it may be old. */
  async state(requestId: string): Promise<DocumentState> {
    return (this.remembered.get(requestId) ?? (await this.readOn(requestId))).state;
  }

  /** The state as the log has it. */
  async stateInLog(requestId: string): Promise<DocumentState> {
    return (await this.readOn(requestId)).state;
  }

  /**
   * The events that this call appended; none when the command said nothing new, and none when an earlier run of the same task, here or in another
   * process, had appended its own: what that run then did is not known here.
   */
  async execute(requestId: string, command: DocumentCommand, cause: Cause): Promise<{ events: DocumentEvent[]; state: DocumentState }> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const before = this.remembered.get(requestId) ?? (await this.readOn(requestId));
      const events = decide(before.state, command);
      if (events.length === 0) {
        const inLog = await this.readOn(requestId);
        if (inLog.version === before.version) return { events, state: before.state };
        continue;
      }
      const appended = await this.options.store.append(
        documentStream(requestId),
        before.version === -1 ? 'none' : before.version,
        events.map((event, n) => this.envelope({ event, requestId, cause, version: before.version + 1 + n })),
      );
      if (appended.kind === 'appended' && !appended.repeated) {
        const state = events.reduce(evolve, before.state);
        this.remember(requestId, { state, version: appended.version });
        return { events, state };
      }
      const inLog = await this.readOn(requestId);
      // A repeat is known by its ids. What stands under them may say something else than what was decided now.
      if (appended.kind === 'appended') return { events: [], state: inLog.state };
    }
    throw new Error(`document ${requestId}: ${MAX_CONFLICTS} version conflicts in a row`);
  }

  /** What is remembered, brought up to the end of the stream. */
  private async readOn(requestId: string): Promise<Remembered> {
    let known = this.remembered.get(requestId) ?? { state: ABSENT, version: -1 };
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const events = await this.options.store.readStream(documentStream(requestId), { fromVersion: known.version + 1, limit: READ_EVENTS });
      known = { state: (events as unknown as DocumentEvent[]).reduce(evolve, known.state), version: events.at(-1)?.version ?? known.version };
      if (events.length < READ_EVENTS) break;
    }
    this.remember(requestId, known);
    return known;
  }

  private remember(requestId: string, document: Remembered): void {
    // Deleting first moves the key to the end: the map's first key is the one untouched for longest.
    this.remembered.delete(requestId);
    if (document.state.phase === 'concluded') return;
    this.remembered.set(requestId, document);
    const oldest = this.remembered.keys().next();
    if (this.remembered.size > (this.options.maxRemembered ?? 20_000) && !oldest.done) this.remembered.delete(oldest.value);
  }

  private envelope(of: { event: DocumentEvent; requestId: string; cause: Cause; version: number }): NewEvent {
    const { installation, clock } = this.options;
    return {
      // The type is part of it: a late answer that says something else than an earlier run of the task is no repeat, and must be heard.
      id: uuid5(`${of.cause.taskKey}@${of.version}/${of.event.type}`, installation.id),
      type: of.event.type,
      schemaVersion: 1,
      data: of.event.data,
      metadata: {
        participant: installation.participant,
        actor: of.cause.actor,
        softwareVersion: installation.softwareVersion,
        profile: installation.profile,
        effectiveAt: (of.cause.effectiveAt ?? clock.now()).toISOString(),
        correlationId: of.requestId,
        causationId: of.cause.taskKey,
      },
    };
  }
}
