import {
  caseStream,
  decideCase,
  evolveCase,
  isStale,
  NO_CASE,
  type CaseCommand,
  type CaseEvent,
  type CaseState,
  type KnownCase,
} from '#domain';
import { typedEvents, type Actor, type EventStore, type NewEvent } from '#event-store';
import { canonicalJson, defined, PedigreeError, sha256Hex, uuid5 } from '#kernel';
import type { Queryable } from '#postgres';
import { RECONCILIATION_CASE, wholeStream } from '#read-models';

export interface CaseLogOptions {
  db: Queryable;
  store: Pick<EventStore, 'append' | 'readStream'>;
  installation: { id: string; participant: string; softwareVersion: string; profile: string };
}

/** By whom, why and on what occasion cases are told something. */
export interface CaseAct {
  actor: Actor;
  reason?: string;
  /** The same act again has the same id, so that a repeated append is recognised. */
  id: string;
  /** When it happened in the world, ISO 8601. */
  at: string;
}

/** What became of a command. */
export interface ToldCase {
  caseId: string;
  events: CaseEvent[];
  /** `absent` when it was never opened. */
  state: CaseState;
  /** Nothing was decided: another run has told the case since its items were judged. */
  isStale: boolean;
}

interface Known {
  state: CaseState;
  /** -1 for a stream that is not there. */
  version: number;
}

/** A document that a person had sent. */
export interface ReleasedRemedy {
  commandId: string;
  requestId: string;
  account?: string;
  /** The case as it stood just before: it says what the document is made of. */
  before: KnownCase;
  actor: Actor;
  reason: string;
}

const MOST_CONFLICTS = 5;

/**
 * Writes to the streams of cases. It decides on the read model first, which tells the version that it stands for. Where
 * the log has gone on since, the append conflicts, and is decided again on the stream itself.
 */
export class CaseLog {
  constructor(private readonly options: CaseLogOptions) {}

  /** Commands to different cases, together. Each appends once, and commits by itself. */
  async tellAll(commands: readonly CaseCommand[], act: CaseAct): Promise<ToldCase[]> {
    const rows = await RECONCILIATION_CASE.load(
      this.options.db,
      commands.map(({ caseId }) => caseId),
    );
    return Promise.all(
      commands.map((command) => {
        const row = rows.get(command.caseId);
        return this.tell(command, act, row === undefined ? undefined : { state: row.state, version: row.version });
      }),
    );
  }

  /** One command. Without `known` it is decided on the stream. */
  async tell(command: CaseCommand, act: CaseAct, known?: Known): Promise<ToldCase> {
    const { caseId } = command;
    let from = known ?? (command.type === 'See' ? { state: NO_CASE, version: -1 } : await this.read(caseId));
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const told = await this.tellAt(command, act, from);
      if (told !== undefined) return told;
      from = await this.read(caseId);
    }
    throw changesAllTheTime(caseId);
  }

  /** Undefined where the log has gone on since. */
  private async tellAt(command: CaseCommand, act: CaseAct, { state, version }: Known): Promise<ToldCase | undefined> {
    const { caseId } = command;
    const events = decideCase(state, command);
    if (events.length === 0) return { caseId, events, state, isStale: isStale(state, command) };
    const appended = await this.options.store.append(
      caseStream(caseId),
      version === -1 ? 'none' : version,
      events.map((event, n) => this.envelope(event, act, version + 1 + n)),
    );
    if (appended.kind !== 'appended') return undefined;
    return { caseId, events, state: events.reduce(evolveCase, state), isStale: false };
  }

  /**
   * Makes a command for a case as it stands, and tells it. Where the log has gone on meanwhile, it is made anew.
   * Without a command nothing is told.
   */
  async tellAsItStands(
    caseId: string,
    act: CaseAct,
    make: (state: CaseState) => Promise<CaseCommand | undefined>,
  ): Promise<void> {
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const known = await this.read(caseId);
      const command = await make(known.state);
      if (command === undefined || (await this.tellAt(command, act, known)) !== undefined) return;
    }
    throw changesAllTheTime(caseId);
  }

  /** A case as the log has it; undefined when it was never opened. */
  async find(caseId: string): Promise<KnownCase | undefined> {
    const { state } = await this.read(caseId);
    return state.phase === 'absent' ? undefined : state;
  }

  /** What was released last, while it is under way. */
  async released(caseId: string): Promise<ReleasedRemedy | undefined> {
    const events = typedEvents<CaseEvent>(await wholeStream(this.options.store, caseStream(caseId)));
    const state = events.reduce(evolveCase, NO_CASE);
    const at = events.findLastIndex(({ type }) => type === 'CaseRemedyReleased');
    const released = events[at];
    if (state.phase === 'absent' || state.remedy === null || released?.type !== 'CaseRemedyReleased') return undefined;
    const { actor, reason = '' } = released.metadata;
    // Whatever runs have told since: it is the document that the person saw.
    const before = events.slice(0, at).reduce(evolveCase, NO_CASE) as KnownCase;
    return { ...released.data, before, actor, reason };
  }

  private async read(caseId: string): Promise<Known> {
    const events = typedEvents<CaseEvent>(await wholeStream(this.options.store, caseStream(caseId)));
    return { state: events.reduce(evolveCase, NO_CASE), version: events.length - 1 };
  }

  private envelope(event: CaseEvent, { actor, reason, id, at }: CaseAct, version: number): NewEvent {
    const { id: installation, participant, softwareVersion, profile } = this.options.installation;
    const { caseId } = event.data;
    const digest = sha256Hex(canonicalJson(event.data));
    return {
      id: uuid5(`${id}@${caseId}@${version}/${event.type}/${digest}`, installation),
      ...{ type: event.type, schemaVersion: 1, data: event.data },
      metadata: {
        // In the order of canonical JSON, so that nothing is sorted when the log takes it.
        ...{ actor, causationId: id, correlationId: caseId, effectiveAt: at, participant, profile },
        ...{ ...defined({ reason }), softwareVersion },
      },
    };
  }
}

const changesAllTheTime = (caseId: string): PedigreeError =>
  new PedigreeError('unavailable', `case ${caseId} changes all the time; try again`, { item: caseId });
