import type { IncomingMessage } from '#bus';
import { refusalStream, type CommandRefused } from '#domain';
import { newEvent, type Actor, type EventStore, type Says } from '#event-store';
import { parseStrictJson, uuid5, type Clock, type ErrorPlace } from '#kernel';
import { MAX_COMMAND_BYTES } from '../api/body-limits.js';
import { commandId, reference } from '../intake/command-body.js';

export interface RefusalsOptions {
  store: Pick<EventStore, 'append' | 'readStream'>;
  installationId: string;
  says: Says;
  clock: Pick<Clock, 'now'>;
  /** Most refusals that this process records on one day (UTC). Default 10,000. */
  mostADay?: number;
}

/** Why a message of the bus is never carried out. */
export interface Refused {
  code: string;
  reason: string;
  place?: ErrorPlace;
}

const MOST_A_DAY = 10_000;
const MOST_TEXT = 1_000;
/** As long as a message id of AMQP may be. */
const MOST_NAME = 255;
/** What must not stand in the log: half of a surrogate pair has no bytes. */
const cut = (text: string, most: number): string => text.slice(0, most).replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * Records that a command of the bus was refused, so that the ERP is told: once for each message, however often it is
 * delivered. What the log keeps of a message is short, and a flood of them ends for the day: then they are found among
 * the dead letters only, and the last one told says so.
 */
export class Refusals {
  private day = '';
  private recorded = 0;

  constructor(private readonly options: RefusalsOptions) {}

  /** Resolves when it is durable, or was before. Rejects while the log does not answer. */
  async record(message: IncomingMessage, refused: Refused, actor: Actor): Promise<void> {
    const { store, installationId, says, clock, mostADay = MOST_A_DAY } = this.options;
    const now = clock.now();
    const day = now.toISOString().slice(0, 10);
    if (day !== this.day) [this.day, this.recorded] = [day, 0];
    if (this.recorded >= mostADay) return;
    const { id } = message;
    // An append that repeats an earlier one does not say so. Were repeats counted, one message that comes again and
    // again would silence all others, and nobody would be told that it did.
    if ((await store.readStream(refusalStream(id), { limit: 1 })).length > 0) return;
    if (this.recorded >= mostADay) return;
    this.recorded += 1;
    const silent = this.recorded === mostADay ? { silentUntil: nextDay(day) } : {};
    const data: CommandRefused['data'] = { ...dataOf(message, refused), ...silent };
    const event = newEvent(
      { type: 'CommandRefused', data },
      {
        ...{ says, actor, at: now, id: uuid5(`refusal/${id}`, installationId) },
        correlationId: data.commandId ?? data.messageId ?? id,
        causationId: `message:${id}`,
      },
    );
    try {
      // A conflict says that an earlier delivery has recorded it, perhaps in other words.
      await store.append(refusalStream(id), 'none', [event]);
    } catch (error) {
      this.recorded -= 1;
      throw error;
    }
  }
}

const nextDay = (day: string): string => new Date(Date.parse(day) + 86_400_000).toISOString();

function dataOf(message: IncomingMessage, { code, reason, place = {} }: Refused): CommandRefused['data'] {
  const { id, messageId, body } = message;
  const where = Object.entries(place)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => [name, typeof value === 'string' ? cut(value, MOST_NAME) : value]);
  return {
    deadLetterId: id,
    ...(messageId === undefined ? {} : { messageId: cut(messageId, MOST_NAME) }),
    ...namesIn(body),
    code,
    text: cut(reason, MOST_TEXT),
    ...(where.length === 0 ? {} : { place: Object.fromEntries(where) }),
  };
}

/** How the ERP named the command. Nothing is guessed: of what is not JSON, or too much of it, nothing is read. */
function namesIn(body: Buffer): Pick<CommandRefused['data'], 'commandId' | 'reference'> {
  if (body.length > MAX_COMMAND_BYTES) return {};
  try {
    const given = Object(parseStrictJson(body)) as { command_id?: unknown; reference?: unknown };
    const [named, referred] = [commandId.safeParse(given.command_id), reference.safeParse(given.reference)];
    return {
      ...(named.success ? { commandId: named.data } : {}),
      ...(referred.success ? { reference: referred.data } : {}),
    };
  } catch {
    return {};
  }
}
