import { systemClock, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import type { TokenCipher } from '#registry-client';
import { runDelivery, type DeliveryOptions } from '../outcomes/delivery.js';
import type { AddressRules } from './addresses.js';
import { WebhookSender } from './sender.js';
import { deliveryName } from './webhooks.js';

export interface RunWebhooksOptions extends Pick<
  DeliveryOptions,
  'notifier' | 'signal' | 'report' | 'standbyMs' | 'leaseMs' | 'random'
> {
  pool: Pool;
  rules: AddressRules;
  cipher: TokenCipher | undefined;
  softwareVersion: string;
  /** Longest that one request takes. Default 10,000. */
  timeoutMs?: number;
  /**
   * Back-off, and failures in a row before it is halted. Defaults: from 1 s, doubling to an hour, 30 times: about
   * twenty hours.
   */
  retryFirstMs?: number;
  retryMostMs?: number;
  mostFailures?: number;
  /** How often new and removed webhooks are noticed. Default 1,000. */
  lookEveryMs?: number;
  clock?: Clock;
}

interface Row {
  id: string;
  url: string;
  sealed_secret: Buffer;
  /** The one before, until the moment from which it signs no more. */
  earlier_sealed_secret: Buffer | null;
  earlier_until: Date | null;
}

interface Running {
  /** As it was last read: its secrets may change. */
  row: Row;
  stop: AbortController;
  ended: Promise<void>;
}

const MOST_WEBHOOKS = 1_000;
const COLUMNS = 'id, url, sealed_secret, earlier_sealed_secret, earlier_until';

/** Delivers to every webhook that there is, each by a cursor of its own, until `signal` aborts. Never rejects. */
export async function runWebhooks(options: RunWebhooksOptions): Promise<void> {
  const { pool, signal, lookEveryMs = 1_000, clock = systemClock } = options;
  const running = new Map<string, Running>();
  while (!signal.aborted) {
    const rows = await pool
      .query<Row>(`SELECT ${COLUMNS} FROM webhook ORDER BY created_at LIMIT ${MOST_WEBHOOKS}`)
      .then((result) => result.rows)
      // The database is away: those that run go on, and say so themselves.
      .catch(() => undefined);
    if (rows !== undefined) adjust(running, rows, options);
    await clock.wait(lookEveryMs, signal);
  }
  for (const { stop } of running.values()) stop.abort();
  await Promise.all([...running.values()].map(({ ended }) => ended));
}

function adjust(running: Map<string, Running>, rows: Row[], options: RunWebhooksOptions): void {
  const wanted = new Set(rows.map((row) => row.id));
  for (const [id, { stop }] of running) {
    if (wanted.has(id)) continue;
    stop.abort();
    running.delete(id);
  }
  for (const row of rows) {
    const before = running.get(row.id);
    if (before !== undefined) {
      before.row = row;
      continue;
    }
    const stop = new AbortController();
    const one: Running = { row, stop, ended: Promise.resolve() };
    one.ended = deliverTo(one, options);
    running.set(row.id, one);
  }
}

/** The newest secret, and the one before as long as it holds; none where the key does not open the newest. */
function secretsOf({ id, ...row }: Row, { cipher, clock = systemClock }: RunWebhooksOptions): string[] {
  const open = (sealed: Buffer): string | undefined => cipher?.open(deliveryName(id), sealed);
  const secret = open(row.sealed_secret);
  const holds = row.earlier_sealed_secret !== null && row.earlier_until !== null && clock.now() < row.earlier_until;
  const earlier = holds ? open(row.earlier_sealed_secret as Buffer) : undefined;
  return secret === undefined ? [] : [secret, ...(earlier === undefined ? [] : [earlier])];
}

function deliverTo(one: Running, options: RunWebhooksOptions): Promise<void> {
  const {
    cipher: _,
    rules,
    softwareVersion,
    timeoutMs = 10_000,
    retryFirstMs = 1_000,
    retryMostMs = 3_600_000,
    mostFailures = 30,
    ...rest
  } = options;
  const { url, id } = one.row;
  const secrets = (): string[] => secretsOf(one.row, options);
  const sender = new WebhookSender({ url, secrets, rules, softwareVersion, timeoutMs });
  return runDelivery({
    ...rest,
    name: deliveryName(id),
    signal: one.stop.signal,
    stepMs: timeoutMs,
    retryFirstMs,
    retryMostMs,
    mostFailures,
    batchSize: 32,
    deliver: async (batch, turn) => {
      // It may have a new one since the table was last read.
      if (secrets().length === 0) one.row = (await readAgain(one.row, options)) ?? one.row;
      return secrets().length === 0 ? { confirmed: 0, failure: LOCKED } : sender.deliver(batch, turn);
    },
  });
}

async function readAgain({ id }: Row, { pool }: RunWebhooksOptions): Promise<Row | undefined> {
  return (await pool.query<Row>(`SELECT ${COLUMNS} FROM webhook WHERE id = $1`, [id])).rows[0];
}

/** Another gateway may have the right key. */
const LOCKED = {
  reason:
    'its secret cannot be read with this key: give each gateway the same PEDIGREE_KEY_FILE, or the webhook a new ' +
    'secret, and resume it',
};
