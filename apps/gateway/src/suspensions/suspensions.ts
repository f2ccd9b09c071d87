import { randomUUID } from 'node:crypto';
import {
  DECISION_LIST_STREAM,
  decideSuspendedList,
  decideSuspension,
  evolveSuspendedList,
  evolveSuspension,
  letterSuspensionId,
  NO_LIST,
  NO_SUSPENSION,
  SUSPENDED_LIST_STREAM,
  suspensionStream,
  whyNotSuspension,
  type Letter,
  type SuspendedListEvent,
  type SuspensionCommand,
  type SuspensionEvent,
  type SuspensionState,
} from '#domain';
import { newEvent, typedEvents, type Actor, type EventStore, type NewEvent, type Says } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { canonicalJson, neverReached, PedigreeError, sha256Hex, uuid5, type Clock, type Sha256 } from '#kernel';
import { wholeStream } from '#read-models';
import type { LetterBody, SuspensionActionBody } from './suspension-body.js';

export interface SuspensionsOptions {
  store: Pick<EventStore, 'append' | 'readStream'>;
  evidence: Pick<EvidenceStore, 'put'>;
  installationId: string;
  says: Says;
  clock: Clock;
}

/** Who asked, and why. */
interface Act {
  actor: Actor;
  reason: string;
}

const MOST_CONFLICTS = 5;

/** What persons do about suspensions and about doubted lists. Each action is in a stream, with who and why. */
export class Suspensions {
  constructor(private readonly options: SuspensionsOptions) {}

  /** Enters a letter. The same letter again changes nothing. @throws PedigreeError suspension_conflict. */
  async enter({ reason, product, series, action, ...rest }: LetterBody, actor: Actor): Promise<string> {
    const letter = await this.kept(rest);
    const suspensionId = letterSuspensionId(letter);
    await this.tell({ type: 'Enter', suspensionId, action, product, series, ...letter }, { actor, reason });
    return suspensionId;
  }

  /** @throws PedigreeError not_found, suspension_conflict. */
  async act(suspensionId: string, asked: SuspensionActionBody, actor: Actor): Promise<void> {
    await this.tell(await this.commandOf(suspensionId, asked), { actor, reason: asked.reason });
  }

  /** Says that a list, the newest, is right, though it leaves out much. @throws PedigreeError suspension_conflict. */
  async confirmList(listSha256: Sha256, reason: string, actor: Actor): Promise<void> {
    await this.appended(await this.listStreamOf(listSha256), { actor, reason }, (recorded) => {
      const state = typedEvents<SuspendedListEvent>(recorded).reduce(evolveSuspendedList, NO_LIST);
      const events = decideSuspendedList(state, { type: 'Confirm', listSha256 });
      const isDone = state.phase === 'believed' && state.believed?.listSha256 === listSha256;
      if (events.length === 0 && !isDone)
        throw conflict(listSha256, 'only the newest list can be confirmed, and only while it is doubted');
      return events;
    });
  }

  /** The two lists have no content in common: a digest is of one of them. */
  private async listStreamOf(listSha256: Sha256): Promise<string> {
    const recorded = await wholeStream(this.options.store, DECISION_LIST_STREAM);
    const isDecisions = typedEvents<SuspendedListEvent>(recorded).some(({ data }) => data.listSha256 === listSha256);
    return isDecisions ? DECISION_LIST_STREAM : SUSPENDED_LIST_STREAM;
  }

  private async tell(command: SuspensionCommand, act: Act): Promise<void> {
    const { suspensionId } = command;
    await this.appended(suspensionStream(suspensionId), act, (recorded) => {
      const state = typedEvents<SuspensionEvent>(recorded).reduce(evolveSuspension, NO_SUSPENSION);
      refuse(state, command);
      return decideSuspension(state, command);
    });
  }

  /** Appends what is decided on the stream as it stands; decided again where it has gone on. */
  private async appended(
    stream: string,
    act: Act,
    decide: (recorded: Awaited<ReturnType<typeof wholeStream>>) => (SuspensionEvent | SuspendedListEvent)[],
  ): Promise<void> {
    const cause = `suspension_action:${randomUUID()}`;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const recorded = await wholeStream(this.options.store, stream);
      const events = decide(recorded);
      if (events.length === 0) return;
      const appended = await this.options.store.append(
        stream,
        recorded.length === 0 ? 'none' : recorded.length - 1,
        events.map((event, n) => this.envelope(event, act, { stream, cause, version: recorded.length + n })),
      );
      if (appended.kind === 'appended') return;
    }
    throw new PedigreeError('unavailable', `${stream} changes all the time; try again`, { item: stream });
  }

  private envelope(
    event: SuspensionEvent | SuspendedListEvent,
    { actor, reason }: Act,
    { stream, cause, version }: { stream: string; cause: string; version: number },
  ): NewEvent {
    const { installationId, says, clock } = this.options;
    const digest = sha256Hex(canonicalJson(event.data));
    const id = uuid5(`${cause}@${stream}@${version}/${event.type}/${digest}`, installationId);
    return newEvent(event, { says, actor, reason, at: clock.now(), id, correlationId: stream, causationId: cause });
  }

  private async commandOf(suspensionId: string, asked: SuspensionActionBody): Promise<SuspensionCommand> {
    switch (asked.action) {
      case 'match':
        return { type: 'Match', suspensionId, matches: asked.matches };
      case 'change':
        return { type: 'Change', suspensionId, action: asked.to, ...(await this.kept(asked)) };
      case 'reply':
        return { type: 'Reply', suspensionId, places: asked.places };
      case 'close':
        return { type: 'Close', suspensionId };
      default:
        return neverReached(asked, 'action on a suspension');
    }
  }

  /** The file is durable before the event that names it. */
  private async kept({
    number,
    date,
    from,
    file,
  }: Pick<LetterBody, 'number' | 'date' | 'from' | 'file'>): Promise<Letter> {
    const letterSha256 = await this.options.evidence.put(Buffer.from(file.base64, 'base64'), file.media_type);
    return { number, date, from, letterSha256 };
  }
}

function refuse(state: SuspensionState, command: SuspensionCommand): void {
  const why = whyNotSuspension(state, command);
  if (why === undefined) return;
  const { suspensionId } = command;
  if (state.phase === 'absent')
    throw new PedigreeError('not_found', `there is no suspension ${suspensionId}`, {
      ...{ field: 'suspensionId', item: suspensionId },
    });
  throw conflict(suspensionId, why);
}

const conflict = (item: string, why: string): PedigreeError =>
  new PedigreeError('suspension_conflict', `${item}: ${why}`, { item });
