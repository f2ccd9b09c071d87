import { inTransaction, type Pool } from '#postgres';
import type {
  BusState,
  CommandMessage,
  ConsumeOptions,
  DeadLetter,
  DeadLetterSummary,
  MessageBus,
  OutgoingMessage,
} from '../port.js';
import { Consumer } from './consumer.js';
import * as sql from './statements.js';
import { NoticeWaiter } from './notice-waiter.js';

export interface PostgresBusOptions {
  /** Stays the caller's. Its database has the tables of `busSchema`. */
  pool: Pool;
  /** Deliveries of one command before it is put aside. Default 10. */
  deliveryLimit?: number;
  /** A message is its holder's for so long, and that is extended every third of it. Default 30,000. */
  leaseMs?: number;
  /** Before a command that failed comes again; doubles with each delivery. Defaults 1,000 and 30,000. */
  retryFirstMs?: number;
  retryMostMs?: number;
  /** How often `mayTakeMore` is asked. Default 250. */
  askEveryMs?: number;
  /** Longest time without a look at the queue, should notices be lost. Default 1,000. */
  fallbackPollMs?: number;
  /** Newest outcomes that are kept. Default 100,000. */
  keptOutcomes?: number;
  report?: (problem: string) => void;
}

const MOST_LETTERS = 10_000;
const MOST_COUNTED = 100_000;
const MOST_OUTCOMES_READ = 10_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type LetterRow = Omit<DeadLetterSummary, 'messageId' | 'publisher'> & {
  messageId: string | null;
  publisher: string | null;
};

const letterOf = <T extends LetterRow>({
  messageId,
  publisher,
  ...row
}: T): Omit<T, 'messageId' | 'publisher'> & { messageId?: string; publisher?: string } => ({
  ...row,
  ...(messageId === null ? {} : { messageId }),
  ...(publisher === null ? {} : { publisher }),
});

/** The embedded bus: the same port on tables of the installation's own database, for machines without a broker. */
export class PostgresBus implements MessageBus {
  private readonly options: Required<PostgresBusOptions>;
  private readonly notices: NoticeWaiter;

  constructor(options: PostgresBusOptions) {
    this.options = {
      deliveryLimit: 10,
      leaseMs: 30_000,
      retryFirstMs: 1_000,
      retryMostMs: 30_000,
      askEveryMs: 250,
      fallbackPollMs: 1_000,
      keptOutcomes: 100_000,
      report: () => undefined,
      ...options,
    };
    this.notices = new NoticeWaiter(options.pool);
  }

  consumeCommands(options: ConsumeOptions): Promise<void> {
    const { pool, leaseMs, deliveryLimit, retryFirstMs, retryMostMs, askEveryMs, fallbackPollMs, report } =
      this.options;
    return new Consumer(
      {
        pool,
        notices: this.notices,
        leaseMs,
        deliveryLimit,
        retryFirstMs,
        retryMostMs,
        askEveryMs,
        fallbackPollMs,
        report,
      },
      options,
    ).run();
  }

  async publishCommands(messages: CommandMessage[]): Promise<void> {
    if (messages.length === 0) return;
    await this.options.pool.query(sql.PUBLISH_COMMANDS, [
      messages.map((one) => one.messageId ?? null),
      messages.map((one) => one.contentType ?? 'application/json'),
      messages.map((one) => JSON.stringify(one.headers ?? {})),
      messages.map((one) => one.body),
    ]);
  }

  async publishOutcomes(messages: OutgoingMessage[]): Promise<void> {
    if (messages.length === 0) return;
    await inTransaction(
      this.options.pool,
      async (tx) => {
        await tx.query(sql.LOCK_OUTCOMES);
        const values = [
          messages.map((one) => one.id),
          messages.map((one) => one.topic),
          messages.map((one) => one.contentType),
          messages.map((one) => one.body),
        ];
        await tx.query(sql.PUBLISH_OUTCOMES, values);
        await tx.query(sql.FORGET_OUTCOMES, [this.options.keptOutcomes]);
      },
      { name: 'outcomes for the embedded bus' },
    );
  }

  /** Published outcomes after a position, in their order; as many as are still kept. */
  async outcomes(after: bigint, limit: number): Promise<(OutgoingMessage & { position: bigint })[]> {
    const { rows } = await this.options.pool.query<OutgoingMessage & { position: bigint }>(sql.OUTCOMES, [
      after,
      Math.min(limit, MOST_OUTCOMES_READ),
    ]);
    return rows;
  }

  async deadLetters({ limit }: { limit: number }): Promise<DeadLetterSummary[]> {
    const { rows } = await this.options.pool.query<LetterRow>(sql.LETTERS, [Math.min(limit, MOST_LETTERS)]);
    return rows.map(letterOf);
  }

  async deadLetter(id: string): Promise<DeadLetter | undefined> {
    if (!UUID.test(id)) return undefined;
    const { rows } = await this.options.pool.query<LetterRow & { body: Buffer }>(sql.LETTER_BY_ID, [id]);
    return rows[0] && letterOf(rows[0]);
  }

  replay(id: string): Promise<boolean> {
    return this.removed(sql.REPLAY, id);
  }

  discard(id: string): Promise<boolean> {
    return this.removed(sql.DISCARD, id);
  }

  private async removed(statement: string, id: string): Promise<boolean> {
    if (!UUID.test(id)) return false;
    const { rowCount } = await this.options.pool.query(statement, [id]);
    return rowCount === 1;
  }

  async state(): Promise<BusState> {
    try {
      const { rows } = await this.options.pool.query<{ commands: number; dead: number }>(sql.COUNTS, [MOST_COUNTED]);
      return { connected: true, blocked: undefined, commandsWaiting: rows[0]?.commands, deadLetters: rows[0]?.dead };
    } catch {
      return { connected: false, blocked: undefined, commandsWaiting: undefined, deadLetters: undefined };
    }
  }

  close(): Promise<void> {
    return this.notices.close();
  }
}
