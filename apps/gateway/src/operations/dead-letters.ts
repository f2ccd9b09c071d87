import { randomUUID } from 'node:crypto';
import type { DeadLetter, DeadLetterSummary, MessageBus } from '#bus';
import type { Actor, EventStore, TypedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, PedigreeError, type Sha256 } from '#kernel';
import { streamEvents } from '../stream-events.js';

export interface DeadLettersOptions {
  bus: Pick<MessageBus, 'deadLetters' | 'deadLetter' | 'replay' | 'discard'>;
  store: Pick<EventStore, 'append' | 'readStream'>;
  evidence: Pick<EvidenceStore, 'put' | 'get'>;
  participant: string;
  softwareVersion: string;
  profile: string;
}

/** Who discarded a letter, when and why. */
export interface Discarded {
  at: Date;
  by: string;
  reason: string;
}

/** A letter as it lies at the bus, or as it was when somebody discarded it. */
export type Shown<Letter extends DeadLetterSummary> = Letter & { discarded?: Discarded };

/** What the log keeps of a letter that was discarded; its body is evidence. */
interface DeadLetterDiscarded {
  id: string;
  messageId?: string;
  publisher?: string;
  contentType: string;
  headers: Record<string, string>;
  code: string;
  refusedBecause: string;
  deadAt: string;
  deliveries: number;
  bodyBytes: number;
  bodySha256: Sha256;
  reason: string;
}

type Discarding = TypedEvent<{ data: DeadLetterDiscarded }>;

/** Every letter that was discarded. People discard them, so it stays short enough to be read whole. */
const DISCARDED_STREAM = 'discarded-letters';

/**
 * Messages that could not be handled: an operator reads why, and has them put back or discarded for a reason that is
 * kept.
 */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  list(limit: number): Promise<DeadLetterSummary[]> {
    return answered(this.options.bus.deadLetters({ limit }));
  }

  /** Those that were discarded, the newest first. */
  async discarded(limit: number): Promise<Shown<DeadLetterSummary>[]> {
    return (await this.discards()).slice(0, limit).map(letterOf);
  }

  /** One that lies at the bus, else one that was discarded. Throws PedigreeError `not_found`. */
  async find(id: string): Promise<Shown<DeadLetter>> {
    const letter = await answered(this.options.bus.deadLetter(id));
    if (letter !== undefined) return letter;
    const gone = (await this.discards()).find(({ data }) => data.id === id);
    if (gone === undefined) throw notFound(id);
    const kept = await this.options.evidence.get(gone.data.bodySha256);
    if (kept === undefined)
      throw new Error(`evidence ${gone.data.bodySha256}, the body of a letter that was discarded, is missing`);
    return { ...letterOf(gone), body: kept.bytes };
  }

  /** Who asked and why goes into the log first: a replay that nobody can account for must not happen. */
  async replay(id: string, reason: string, actor: Actor): Promise<void> {
    const { messageId, code, deadAt, bodyBytes } = await this.atTheBus(id);
    const data = {
      id,
      ...defined({ messageId }),
      code,
      deadAt: deadAt.toISOString(),
      bodyBytes,
      reason,
    };
    await this.account('operations', { type: 'DeadLetterReplayed', data, cause: `replay:${id}` }, actor);
    if (!(await answered(this.options.bus.replay(id)))) throw notFound(id);
  }

  /**
   * The same for one that nobody will mend: it counts no more, and stays in log and evidence with who discarded it and
   * why.
   */
  async discard(id: string, reason: string, actor: Actor): Promise<void> {
    const {
      messageId,
      publisher,
      contentType,
      headers,
      code,
      reason: refusedBecause,
      deadAt,
      deliveries,
      bodyBytes,
      body,
    } = await this.atTheBus(id);
    const bodySha256 = await this.options.evidence.put(body, fitMediaType(contentType));
    const data: DeadLetterDiscarded = {
      id,
      ...defined({ messageId, publisher }),
      contentType,
      headers,
      code,
      refusedBecause,
      deadAt: deadAt.toISOString(),
      deliveries,
      bodyBytes,
      bodySha256,
      reason,
    };
    await this.account(DISCARDED_STREAM, { type: 'DeadLetterDiscarded', data, cause: `discard:${id}` }, actor);
    if (!(await answered(this.options.bus.discard(id)))) throw notFound(id);
  }

  private async atTheBus(id: string): Promise<DeadLetter> {
    const letter = await answered(this.options.bus.deadLetter(id));
    if (letter === undefined) throw notFound(id);
    return letter;
  }

  private async account(
    stream: string,
    { type, data, cause }: { type: string; data: { id: string; messageId?: string; reason: string }; cause: string },
    actor: Actor,
  ): Promise<void> {
    const { store, participant, softwareVersion, profile } = this.options;
    const metadata = {
      participant,
      actor,
      reason: data.reason,
      softwareVersion,
      profile,
      effectiveAt: new Date().toISOString(),
      correlationId: data.messageId ?? data.id,
      causationId: cause,
    };
    await store.append(stream, 'any', [{ id: randomUUID(), type, schemaVersion: 1, data, metadata }]);
  }

  /** The newest first; of a letter whose discarding was broken off and done again, the newest. */
  private async discards(): Promise<Discarding[]> {
    const events = await streamEvents<{ data: DeadLetterDiscarded }>(this.options.store, DISCARDED_STREAM);
    return [...new Map(events.map((event) => [event.data.id, event])).values()].sort((a, b) => b.version - a.version);
  }
}

const letterOf = ({ data, metadata, recordedAt }: Discarding): Shown<DeadLetterSummary> => {
  const { refusedBecause, deadAt, bodySha256: _, reason, ...letter } = data;
  return {
    ...letter,
    reason: refusedBecause,
    deadAt: new Date(deadAt),
    discarded: { at: recordedAt, by: metadata.actor.name, reason },
  };
};

const UNNAMED_TYPE = 'application/octet-stream';
/** As RFC 6838 names types, with parameters of visible characters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,80}\/[\w!#$&^.+-]{1,80}( *;[\x20-\x7e]{0,30})?$/;

/** What the publisher calls the bytes, where that is a media type: he may call them anything, at any length. */
const fitMediaType = (given: string): string => (MEDIA_TYPE.test(given) ? given : UNNAMED_TYPE);

const notFound = (id: string): PedigreeError =>
  new PedigreeError('not_found', `no dead letter is called ${id}`, { field: 'id', item: id });

async function answered<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw new PedigreeError('unavailable', `the bus does not answer: ${(error as Error).message}`);
  });
}
