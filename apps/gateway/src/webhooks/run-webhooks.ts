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
}

interface Running {
  stop: AbortController;
  ended: Promise<void>;
}

const MOST_WEBHOOKS = 1_000;

/** Delivers to every webhook that there is, each by a cursor of its own, until `signal` aborts. Never rejects. */
export async function runWebhooks(options: RunWebhooksOptions): Promise<void> {
  const { pool, signal, lookEveryMs = 1_000, clock = systemClock } = options;
  const running = new Map<string, Running>();
  while (!signal.aborted) {
    const rows = await pool
      .query<Row>(`SELECT id, url, sealed_secret FROM webhook ORDER BY created_at LIMIT ${MOST_WEBHOOKS}`)
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
    if (running.has(row.id)) continue;
    const stop = new AbortController();
    running.set(row.id, { stop, ended: deliverTo(row, stop.signal, options) });
  }
}

function deliverTo(row: Row, signal: AbortSignal, options: RunWebhooksOptions): Promise<void> {
  const {
    cipher,
    rules,
    softwareVersion,
    timeoutMs = 10_000,
    retryFirstMs = 1_000,
    retryMostMs = 3_600_000,
    mostFailures = 30,
    ...rest
  } = options;
  const name = deliveryName(row.id);
  const secret = cipher?.open(name, row.sealed_secret);
  const sender =
    secret === undefined ? undefined : new WebhookSender({ url: row.url, secret, rules, softwareVersion, timeoutMs });
  return runDelivery({
    ...rest,
    name,
    signal,
    stepMs: timeoutMs,
    retryFirstMs,
    retryMostMs,
    mostFailures,
    batchSize: 32,
    deliver: (batch, turn) =>
      sender === undefined ? Promise.resolve({ confirmed: 0, failure: LOCKED }) : sender.deliver(batch, turn),
  });
}

const LOCKED = {
  reason: 'its secret cannot be read with this key (PEDIGREE_KEY_FILE): remove the webhook and make a new one',
  halt: true,
};
