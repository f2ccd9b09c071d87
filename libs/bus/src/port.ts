/** A command message as it came from the ERP. Bytes: nothing is parsed or trusted here. */
export interface IncomingMessage {
  /**
   * Names the message at every delivery, and its dead letter. Where the broker gives no name, messages of one message
   * id and content share one, and those without an id that are alike to the last byte.
   */
  id: string;
  /** The publisher's message id; absent when it gave none. */
  messageId?: string;
  /** The user who published it, where the broker or the database vouches for him; absent when nobody does. */
  publisher?: string;
  body: Buffer;
  contentType: string;
  headers: Record<string, string>;
  /** Deliveries begun, this one included. */
  deliveries: number;
  /**
   * For how long it may still be kept without being settled, in milliseconds: counted from its arrival, not from when
   * it was handed over.
   */
  patienceMs: number;
}

/**
 * What became of a message. `done`: it is taken from the queue. `dead`: it can never be handled; it is kept among the
 * dead letters with the reason before it leaves the queue. `retry`: it failed; it comes again after a delay, until its
 * deliveries are used up. `postpone`: it was not tried for reasons that are not its own (a database that is down); it
 * comes again, and this delivery is not counted.
 */
export type Handled =
  | { kind: 'done' }
  | { kind: 'dead'; code: string; reason: string }
  | { kind: 'retry'; reason: string }
  | { kind: 'postpone'; reason: string };

/** The code of a dead letter that was delivered as often as the delivery limit allows. */
export const DELIVERY_LIMIT = 'delivery_limit';

/** A message that was put aside, with why; without its body, which may be large. */
export interface DeadLetterSummary {
  /**
   * Names it for read and replay; stable while it lies there. Only letters of one content may share one, as messages
   * do.
   */
  id: string;
  messageId?: string;
  /** As of the message; it stays through a replay. */
  publisher?: string;
  contentType: string;
  headers: Record<string, string>;
  bodyBytes: number;
  /** Error code of ours, or `delivery_limit`. */
  code: string;
  reason: string;
  deadAt: Date;
  deliveries: number;
}

export interface DeadLetter extends DeadLetterSummary {
  body: Buffer;
}

/** A command to put into the queue, as an ERP would. */
export interface CommandMessage {
  messageId?: string;
  body: Buffer;
  contentType?: string;
  headers?: Record<string, string>;
}

/** A message to the ERP: a CloudEvents 1.0 event in structured mode (application/cloudevents+json). */
export interface OutgoingMessage {
  /** The CloudEvent's id: the same event again has the same id. */
  id: string;
  /** Routing key, for example `document.concluded.accepted`. */
  topic: string;
  contentType: string;
  body: Buffer;
}

/**
 * A message that cannot be tried is kept for so long after its arrival, then postponed: brokers cut off whoever keeps
 * one for half an hour.
 */
export const MOST_HELD_MS = 10 * 60_000;

export interface ConsumeOptions {
  /** Most messages under way at once. */
  concurrency: number;
  /** Most bytes of their bodies that are worked on at once; a message that is larger goes alone. Default: no limit. */
  mostBytes?: number;
  /** How long a message may be kept from its arrival on, whatever it waits for. Default `MOST_HELD_MS`. */
  mostHeldMs?: number;
  handle(message: IncomingMessage): Promise<Handled>;
  /** Ends consuming: what is under way is finished and settled first. */
  signal: AbortSignal;
  /**
   * Asked now and then; while it says false nothing more is begun. Messages wait in the queue, but for those that had
   * been sent to us (at most `concurrency`).
   */
  mayTakeMore?(): boolean | Promise<boolean>;
}

/** Whether the broker can be reached now, and how many messages wait there; undefined where it cannot tell. */
export interface BusState {
  connected: boolean;
  /** Why it takes no messages from us now; undefined while it does. */
  blocked: string | undefined;
  commandsWaiting: number | undefined;
  deadLetters: number | undefined;
}

/**
 * The ERP's side of the house: commands in, outcomes out. Two adapters: RabbitMQ, and PostgreSQL as the embedded
 * default. A message that was confirmed to its publisher is handled at least once; what `publish` resolved for is kept
 * by the broker.
 */
export interface MessageBus {
  /**
   * Works until the signal aborts, through losses of the connection; resolves when everything under way is settled.
   * Never rejects for the broker's sake.
   */
  consumeCommands(options: ConsumeOptions): Promise<void>;
  /**
   * Resolves when the broker has confirmed every message, in their order. Rejects when it has not within `timeoutMs`:
   * then any of them may be there.
   */
  publishOutcomes(messages: OutgoingMessage[], options?: { timeoutMs?: number }): Promise<void>;
  /**
   * What an ERP on this bus does, in the name of the user that the bus is opened with: resolves when the broker keeps
   * every message. Rejects as `publishOutcomes` does.
   */
  publishCommands(messages: CommandMessage[]): Promise<void>;
  /** Oldest first; `limit` at most 10,000. While one process looks, another may see fewer. */
  deadLetters(options: { limit: number }): Promise<DeadLetterSummary[]>;
  deadLetter(id: string): Promise<DeadLetter | undefined>;
  /**
   * Puts it back into the command queue, then takes it from the dead letters: at least once, for commands are
   * idempotent. False: no such letter.
   */
  replay(id: string): Promise<boolean>;
  /** Takes it from the dead letters for good. False: no such letter. */
  discard(id: string): Promise<boolean>;
  state(): Promise<BusState>;
  close(): Promise<void>;
}
