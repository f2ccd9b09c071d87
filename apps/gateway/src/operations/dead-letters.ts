import type { DeadLetter, DeadLetterSummary, MessageBus } from '#bus';
import { newEvent, type Actor, type EventStore, type Says, type TypedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, PedigreeError, type Sha256 } from '#kernel';
import { streamEvents } from '../stream-events.js';

export interface DeadLettersOptions extends Says {
  bus: Pick<MessageBus, 'deadLetters' | 'deadLetter' | 'replay' | 'discard'>;
  store: Pick<EventStore, 'append' | 'readStream'>;
  evidence: Pick<EvidenceStore, 'put' | 'get'>;
}

/** Who discarded a letter, when and why. */
interface Discarded {
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
  /** Where the body is more than one piece of evidence may be: the pieces behind the first. */
  furtherSha256?: Sha256[];
  reason: string;
}

type Discarding = TypedEvent<{ data: DeadLetterDiscarded }>;

/** A broker may carry messages that are larger than one piece of evidence: as they are refused, they become letters. */
const PIECE_BYTES = 32 * 1024 * 1024;

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
    const { bodySha256, furtherSha256 = [] } = gone.data;
    const pieces: Uint8Array[] = [];
    for (const sha256 of [bodySha256, ...furtherSha256]) pieces.push(await this.piece(sha256));
    return { ...letterOf(gone), body: Buffer.concat(pieces) };
  }

  private async piece(sha256: Sha256): Promise<Uint8Array> {
    const kept = await this.options.evidence.get(sha256);
    if (kept === undefined) throw new Error(`evidence ${sha256}, of a letter that was discarded, is missing`);
    return kept.bytes;
  }

  /** The digests of the body, piece by piece; of an empty one too. One at a time, for all of it is in memory. */
  private async keep(body: Buffer, contentType: string): Promise<[Sha256, ...Sha256[]]> {
    const put = (from: number): Promise<Sha256> =>
      this.options.evidence.put(body.subarray(from, from + PIECE_BYTES), fitMediaType(contentType));
    const kept: [Sha256, ...Sha256[]] = [await put(0)];
    for (let from = PIECE_BYTES; from < body.length; from += PIECE_BYTES) kept.push(await put(from));
    return kept;
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
    const [bodySha256, ...furtherSha256] = await this.keep(body, contentType);
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
      ...(furtherSha256.length === 0 ? {} : { furtherSha256 }),
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
    { cause, ...event }: { type: string; data: { id: string; messageId?: string; reason: string }; cause: string },
    actor: Actor,
  ): Promise<void> {
    const { id, messageId, reason } = event.data;
    const ids = { correlationId: messageId ?? id, causationId: cause };
    const by = { says: this.options, actor, reason, at: new Date(), ...ids };
    await this.options.store.append(stream, 'any', [newEvent(event, by)]);
  }

  /** The newest first; of a letter whose discarding was broken off and done again, the newest. */
  private async discards(): Promise<Discarding[]> {
    const events = await streamEvents<{ data: DeadLetterDiscarded }>(this.options.store, DISCARDED_STREAM);
    return [...new Map(events.map((event) => [event.data.id, event])).values()].sort((a, b) => b.version - a.version);
  }
}

const letterOf = ({ data, metadata, recordedAt }: Discarding): Shown<DeadLetterSummary> => {
  const { refusedBecause, deadAt, bodySha256: _, furtherSha256: __, reason, ...letter } = data;
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
