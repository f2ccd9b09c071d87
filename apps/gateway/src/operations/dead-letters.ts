import { randomUUID } from 'node:crypto';
import type { DeadLetter, DeadLetterSummary, MessageBus } from '#bus';
import type { Actor, EventStore } from '#event-store';
import { PedigreeError } from '#kernel';

export interface DeadLettersOptions {
  bus: Pick<MessageBus, 'deadLetters' | 'deadLetter' | 'replay'>;
  store: Pick<EventStore, 'append'>;
  participant: string;
  softwareVersion: string;
  profile: string;
}

/** Messages that could not be handled: an operator reads why, has the cause mended, and puts them back for a reason that is kept. */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  list(limit: number): Promise<DeadLetterSummary[]> {
    return answered(this.options.bus.deadLetters({ limit }));
  }

  /** Throws PedigreeError `not_found`. */
  async find(id: string): Promise<DeadLetter> {
    const letter = await answered(this.options.bus.deadLetter(id));
    if (letter === undefined) throw notFound(id);
    return letter;
  }

  /** Who asked and why goes into the log first: a replay that nobody can account for must not happen. */
  async replay(id: string, reason: string, actor: Actor): Promise<void> {
    const { bus, store, participant, softwareVersion, profile } = this.options;
    const { messageId, code, deadAt, bodyBytes } = await this.find(id);
    const data = { id, ...(messageId === undefined ? {} : { messageId }), code, deadAt: deadAt.toISOString(), bodyBytes, reason };
    const metadata = {
      ...{ participant, actor, reason, softwareVersion, profile, effectiveAt: new Date().toISOString() },
      ...{ correlationId: messageId ?? id, causationId: `replay:${id}` },
    };
    await store.append('operations', 'any', [{ id: randomUUID(), type: 'DeadLetterReplayed', schemaVersion: 1, data, metadata }]);
    if (!(await answered(bus.replay(id)))) throw notFound(id);
  }
}

const notFound = (id: string): PedigreeError => new PedigreeError('not_found', `no dead letter is called ${id}`, { field: 'id', item: id });

async function answered<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw new PedigreeError('unavailable', `the bus does not answer: ${(error as Error).message}`);
  });
}
