import { ABSENT, decide, documentStream, evolve, type DocumentCommand, type DocumentEvent, type DocumentState } from '#domain';
import type { Actor, EventStore, NewEvent, RecordedEvent } from '#event-store';
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

/**
 * Loads a document from the log, decides, appends. States are remembered between commands: a stale one costs a version conflict
 * and a reload, never a wrong event, because the log checks the expected version.
 */
export class DocumentRepository {
  private readonly remembered = new Map<string, Remembered>();

  constructor(private readonly options: DocumentRepositoryOptions) {}

  async state(requestId: string): Promise<DocumentState> {
    return (await this.load(requestId)).state;
  }

  /** The events that were appended; none when the command said nothing new. */
  async execute(requestId: string, command: DocumentCommand, cause: Cause): Promise<{ events: DocumentEvent[]; state: DocumentState }> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const before = await this.load(requestId);
      const events = decide(before.state, command);
      if (events.length === 0) return { events, state: before.state };
      const appended = await this.options.store.append(
        documentStream(requestId),
        before.version === -1 ? 'none' : before.version,
        events.map((event, n) => this.envelope({ event, requestId, cause, version: before.version + 1 + n })),
      );
      if (appended.kind === 'appended') {
        const state = events.reduce(evolve, before.state);
        this.remember(requestId, { state, version: appended.version });
        return { events, state };
      }
      this.remembered.delete(requestId);
    }
    throw new Error(`document ${requestId}: ${MAX_CONFLICTS} version conflicts in a row`);
  }

  private async load(requestId: string): Promise<Remembered> {
    const known = this.remembered.get(requestId);
    if (known !== undefined) return known;
    const events = await this.options.store.readStream(documentStream(requestId));
    const loaded = { state: replay(events), version: events.at(-1)?.version ?? -1 };
    this.remember(requestId, loaded);
    return loaded;
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
      id: uuid5(`${of.cause.taskKey}@${of.version}`, installation.id),
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

function replay(events: RecordedEvent[]): DocumentState {
  return (events as unknown as DocumentEvent[]).reduce(evolve, ABSENT);
}
