import { StringDecoder } from 'node:string_decoder';
import type { Envelope, HeaderFields } from 'rabbitmq-client';
import { defined, sha256Hex } from '#kernel';
import { headerBytes, MOST_HEADER_BYTES } from './channel.js';
import { DELIVERY_LIMIT, type DeadLetter, type IncomingMessage } from '../port.js';

/** What a message carries, wherever it was got from. */
export interface Carried extends HeaderFields {
  body: Buffer;
}

/** Why a message was put aside. */
export interface DeadLetterInfo {
  id: string;
  code: string;
  reason: string;
  deadAt: Date;
  deliveries: number;
}

const OURS = {
  id: 'x-pedigree-id',
  code: 'x-pedigree-code',
  reason: 'x-pedigree-reason',
  publisher: 'x-pedigree-publisher',
  deadAt: 'x-pedigree-dead-at',
  deliveries: 'x-pedigree-deliveries',
} as const;
/** What the broker adds on the way; a message that goes back into the queue begins without it. */
const BROKERS = /^x-(death|first-death-.*|last-death-.*|delivery-count|opt-.*)$/;
const OWN_NAMES = new Set<string>(Object.values(OURS));
const ID_DIGITS = 32;
const MOST_REASON_CHARACTERS = 4_000;
/** The client reads the greatest timestamps rounded up, and cannot write those. */
const MOST_TIMESTAMP = 2 ** 64;
const UNNAMED_TYPE = 'application/octet-stream';

/** How often the broker began to deliver it: a quorum queue counts the returns. */
export const deliveriesOf = (message: HeaderFields & { redelivered?: boolean }): number => {
  const returns = Number(message.headers?.['x-delivery-count'] ?? (message.redelivered === true ? 1 : 0));
  return (Number.isSafeInteger(returns) && returns > 0 ? returns : 0) + 1;
};

/**
 * The user who published a message. The broker compares the property user_id with the user of the connection and takes
 * no other, so whoever stands there is he. Of a copy that is ourselves, and our header names for whom we made it: a
 * header that anybody else could have written counts for nothing.
 */
export function publisherOf({ userId, headers }: HeaderFields, ownUser: string): string | undefined {
  const named: unknown = userId === ownUser ? headers?.[OURS.publisher] : undefined;
  return typeof named === 'string' && named !== '' ? named : userId;
}

const publisherField = (message: HeaderFields, ownUser: string): { publisher?: string } => {
  const publisher = publisherOf(message, ownUser);
  return publisher === undefined ? {} : { publisher };
};

/**
 * What a message is known by at every delivery. AMQP names none, so this follows from what its publisher gave. With a
 * message id that is the id and the content: whoever repeats a message after a lost confirm gives it a new timestamp
 * and a new trace, often without knowing, for AMQP clients stamp by themselves. Without one, what is alike to the last
 * byte, timestamp and headers included, counts as one message.
 */
export function identityOf(message: Carried): string {
  const { messageId, timestamp, correlationId, type, appId, contentType } = message;
  const given =
    messageId === undefined || messageId === ''
      ? [messageId, timestamp, correlationId, type, appId, contentType, textHeaders(message)]
      : [messageId, contentType];
  return sha256Hex(Buffer.concat([Buffer.from(JSON.stringify(given)), message.body])).slice(0, ID_DIGITS);
}

export const incomingOf = (
  message: Carried & { redelivered?: boolean },
  { patienceMs, ownUser }: { patienceMs: number; ownUser: string },
): IncomingMessage => ({
  // Only what is refused is ever asked for it.
  get id() {
    return identityOf(message);
  },
  ...defined({ messageId: message.messageId }),
  ...publisherField(message, ownUser),
  body: message.body,
  contentType: message.contentType ?? UNNAMED_TYPE,
  headers: textHeaders(message),
  deliveries: deliveriesOf(message),
  patienceMs,
});

/**
 * The message as its publisher made it, to be published again by us. Where the broker vouched for him, we do now, in a
 * header.
 */
export function copyOf(message: HeaderFields, ownUser: string): Envelope {
  const { contentType, contentEncoding, priority, correlationId, messageId, timestamp, type, appId } = message;
  const given = {
    contentType,
    contentEncoding: contentEncoding === 'identity' ? undefined : contentEncoding,
    priority,
    correlationId,
    messageId,
    timestamp: timestamp !== undefined && timestamp < MOST_TIMESTAMP ? timestamp : undefined,
    type,
    appId,
  };
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  const publisher = publisherOf(message, ownUser);
  const vouched = publisher === undefined ? {} : { [OURS.publisher]: publisher };
  return {
    ...Object.fromEntries(present),
    ...(publisher === undefined ? {} : { userId: ownUser }),
    headers: { ...Object.fromEntries(givenHeaders(message)), ...vouched },
    durable: true,
    mandatory: true,
  };
}

/** The same, with why it was put aside; of the reason as much as fits. */
export function deadLetterEnvelope(message: HeaderFields, info: DeadLetterInfo, ownUser: string): Envelope {
  const copy = copyOf(message, ownUser);
  const withReason = (reason: string): Envelope => ({
    ...copy,
    headers: {
      ...copy.headers,
      [OURS.id]: info.id,
      [OURS.code]: info.code,
      [OURS.reason]: reason,
      [OURS.deadAt]: info.deadAt.toISOString(),
      [OURS.deliveries]: info.deliveries,
    },
  });
  const room = Math.max(0, MOST_HEADER_BYTES - headerBytes(withReason('')));
  const fitting = Buffer.from(info.reason.slice(0, MOST_REASON_CHARACTERS)).subarray(0, room);
  // A character of which only the beginning fits is left out.
  return withReason(new StringDecoder().write(fitting));
}

/**
 * A message of the dead-letter queue. One without our headers was put there by the broker, for the delivery limit or by
 * hand.
 */
export function deadLetterOf(
  message: Carried,
  { deliveryLimit, ownUser }: { deliveryLimit: number; ownUser: string },
): DeadLetter {
  const info = ours(message) ?? brokers(message, deliveryLimit);
  return {
    ...info,
    ...defined({ messageId: message.messageId }),
    ...publisherField(message, ownUser),
    body: message.body,
    bodyBytes: message.body.length,
    contentType: message.contentType ?? UNNAMED_TYPE,
    headers: textHeaders(message),
  };
}

function ours({ headers = {} }: HeaderFields): DeadLetterInfo | undefined {
  const id: unknown = headers[OURS.id];
  const deadAt = new Date(String(headers[OURS.deadAt]));
  if (typeof id !== 'string' || id === '' || Number.isNaN(deadAt.getTime())) return undefined;
  return {
    id,
    code: String(headers[OURS.code]),
    reason: String(headers[OURS.reason]),
    deadAt,
    deliveries: Number(headers[OURS.deliveries] ?? 1),
  };
}

interface Death {
  reason?: string;
  queue?: string;
  time?: Date | number;
}

/** The broker does not hand on how often it delivered, and what it counts here are our looks at the letter. */
function brokers(message: Carried, deliveryLimit: number): DeadLetterInfo {
  const deaths: unknown = message.headers?.['x-death'];
  const [death] = (Array.isArray(deaths) ? deaths : []) as (Death | undefined)[];
  const deadAt = momentOf(death?.time ?? message.timestamp);
  const id = identityOf(message);
  if (death === undefined)
    return { id, code: 'unknown', reason: 'it was put into the dead-letter queue by hand', deadAt, deliveries: 0 };
  if (death.reason !== DELIVERY_LIMIT)
    return {
      id,
      code: death.reason ?? 'unknown',
      reason: `the broker put it aside: ${String(death.reason)}`,
      deadAt,
      deliveries: 0,
    };
  const reason =
    `the broker counts that it was delivered ${deliveryLimit} times from ${String(death.queue)}, which is the ` +
    'limit, and not once settled. ' +
    'It does not say why: a failure of ours stands in the log of the gateway; a connection or process that ended ' +
    'with the message in hand is counted too';
  return { id, code: DELIVERY_LIMIT, reason, deadAt, deliveries: deliveryLimit };
}

/** AMQP counts seconds. */
function momentOf(time: Date | number | undefined): Date {
  const moment = time instanceof Date ? time : new Date(Number(time ?? 0) * 1_000);
  return Number.isNaN(moment.getTime()) ? new Date(0) : moment;
}

/** Headers as the publisher gave them, as text; a table or list as JSON. */
const textHeaders = (message: HeaderFields): Record<string, string> =>
  Object.fromEntries(
    givenHeaders(message).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );

const givenHeaders = ({ headers = {} }: HeaderFields): [string, unknown][] =>
  Object.entries(headers)
    .filter(([name]) => !BROKERS.test(name) && !OWN_NAMES.has(name))
    .map(([name, value]) => [name, writable(value)]);

/** A header's value as the client can write it again, and JSON can: bytes, which neither can, become base64. */
function writable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(writable);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, writable(one)]));
}
