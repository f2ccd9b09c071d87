import { randomUUID } from 'node:crypto';
import { newEvent, type Actor, type EventStore, type Says } from '#event-store';
import { PedigreeError } from '#kernel';
import { inTransaction, type Pool, type Queryable } from '#postgres';
import { newestOutcome, outcomesAfter, outcomesRemovedUpTo, type StoredOutcome } from '#read-models';
import type { TokenCipher } from '#registry-client';
import { deliveries, furthestDelivered, openDelivery, type DeliveryState } from '../outcomes/delivery-table.js';
import type { AddressRules } from './addresses.js';
import { ofOutcome } from './sender.js';
import { newSecret } from './signature.js';

/** A webhook as it is shown. The secret is told once, when it is made. */
export interface Webhook {
  id: string;
  /** Without its query: there many a receiver has its token, and auditors see the list too. */
  url: string;
  description?: string;
  createdBy: string;
  createdAt: string;
  /** `active`: nothing wrong. `retrying`: the newest attempt failed. `halted`: given up, until it is resumed. */
  state: 'active' | 'retrying' | 'halted';
  /** Log position up to which everything was delivered. */
  position: string;
  /** Outcomes that it lacks, counted up to 10,000. */
  behind: number;
  failures: number;
  /** When the first of these failures was. */
  failingSince?: string;
  lastError?: string;
  nextAttemptAt?: string;
  haltedAt?: string;
  /** Until then the secret before signs too. */
  earlierSecretUntil?: string;
}

export interface WebhooksOptions extends Says {
  pool: Pool;
  store: Pick<EventStore, 'append'>;
  rules: AddressRules;
  /** Absent when the gateway has no key: then none can be made. */
  cipher: TokenCipher | undefined;
  /** Default 20. */
  mostWebhooks?: number;
}

/**
 * Where a webhook goes on: with what comes from now on, with the oldest outcome that is kept, where it stopped, or
 * behind the one outcome that its receiver does not take.
 */
type Place = 'now' | 'oldest' | 'here' | 'next';

export const deliveryName = (id: string): string => `webhook:${id}`;

interface Row {
  id: string;
  url: string;
  description: string | null;
  created_by: string;
  created_at: Date;
  earlier_until: Date | null;
}

/** How long the secret before signs beside a new one. */
const BOTH_SIGN = '1 day';

/**
 * Makes, lists, removes and resumes webhooks, and gives them new secrets. Who did it and why goes into the log before
 * it is done.
 */
export class Webhooks {
  constructor(private readonly options: WebhooksOptions) {}

  /** Makes one; its secret is told here and never again. */
  async add(
    wanted: { url: string; description?: string | undefined; from: 'now' | 'oldest'; reason?: string | undefined },
    actor: Actor,
  ): Promise<Webhook & { secret: string }> {
    const { pool, rules, mostWebhooks = 20 } = this.options;
    const url = rules.check(wanted.url);
    const cipher = this.cipher();
    if ((await this.rows()).length >= mostWebhooks)
      throw new PedigreeError('invalid_command', `there are ${mostWebhooks} webhooks already; remove one first`, {
        field: '',
      });
    const id = randomUUID();
    const secret = newSecret();
    await this.note('WebhookAdded', { id, address: `${url.origin}${url.pathname}` }, { actor, reason: wanted.reason });
    await inTransaction(
      pool,
      async (tx) => {
        await tx.query(
          'INSERT INTO webhook (id, url, description, sealed_secret, created_by) VALUES ($1, $2, $3, $4, $5)',
          [...[id, url.href, wanted.description ?? null, cipher.seal(deliveryName(id), secret), actor.name]],
        );
        await openDelivery(
          tx,
          deliveryName(id),
          wanted.from === 'now' ? await placeOfNow(tx) : await outcomesRemovedUpTo(tx),
        );
      },
      { name: 'a new webhook' },
    );
    return { ...(await this.one(id)), secret };
  }

  /**
   * Gives it a new secret, told here and never again. For a day both sign, so that nothing is lost until the receiver
   * has it; the one before the last signs no more, nor does one that this key cannot read.
   */
  async rotate(
    id: string,
    change: { reason?: string | undefined; actor: Actor },
  ): Promise<Webhook & { secret: string }> {
    const cipher = this.cipher();
    await this.one(id);
    const secret = newSecret();
    await this.note('WebhookSecretChanged', { id }, change);
    const { pool } = this.options;
    const { rows } = await pool.query<{ sealed: Buffer }>('SELECT sealed_secret AS sealed FROM webhook WHERE id = $1', [
      id,
    ]);
    const signs = rows.some(({ sealed }) => cipher.open(deliveryName(id), sealed) !== undefined);
    await pool.query(
      `UPDATE webhook SET earlier_sealed_secret = CASE WHEN $4 THEN sealed_secret END,
         earlier_until = CASE WHEN $4 THEN clock_timestamp() + $3::interval END, sealed_secret = $2 WHERE id = $1`,
      [id, cipher.seal(deliveryName(id), secret), BOTH_SIGN, signs],
    );
    return { ...(await this.one(id)), secret };
  }

  async list(): Promise<Webhook[]> {
    const states = new Map((await deliveries(this.options.pool)).map((state) => [state.name, state]));
    return (await this.rows()).flatMap((row) => {
      const state = states.get(deliveryName(row.id));
      return state === undefined ? [] : [webhookOf(row, state)];
    });
  }

  async remove(id: string, change: { reason?: string | undefined; actor: Actor }): Promise<void> {
    await this.one(id);
    await this.note('WebhookRemoved', { id }, change);
    await inTransaction(
      this.options.pool,
      async (tx) => {
        await tx.query('DELETE FROM outcome_delivery WHERE name = $1', [deliveryName(id)]);
        await tx.query('DELETE FROM webhook WHERE id = $1', [id]);
      },
      { name: 'a webhook that goes' },
    );
  }

  /** Has it go on: after it was halted, or at once instead of after its back-off. */
  async resume(id: string, change: { from: Place; reason?: string | undefined; actor: Actor }): Promise<Webhook> {
    const { pool } = this.options;
    const webhook = await this.one(id);
    const { position } = webhook;
    const removedUpTo = await outcomesRemovedUpTo(pool);
    if (change.from === 'here' && BigInt(position) < removedUpTo) {
      throw new PedigreeError(
        'outcomes_removed',
        `outcomes after position ${position} were removed; resume it from "oldest" or "now", and ask for the ` +
          'documents in between',
        { field: '/from', item: id },
      );
    }
    const refused = change.from === 'next' ? await this.refusedBy(webhook) : undefined;
    const passedOver = refused && { passedOver: refused.id };
    await this.note('WebhookResumed', { id, from: change.from, ...passedOver }, change);
    const place = {
      here: async () => BigInt(position),
      next: async () => refused?.position,
      now: () => placeOfNow(pool),
      oldest: async () => removedUpTo,
    }[change.from];
    await pool.query(
      'UPDATE outcome_delivery SET position = $2, failures = 0, last_error = NULL, next_attempt_at = NULL, ' +
        'failing_since = NULL, halted_at = NULL, holder = NULL, updated_at = clock_timestamp() WHERE name = $1',
      [deliveryName(id), await place()],
    );
    return this.one(id);
  }

  /** The outcome behind which it may go on: the first that it lacks, and the one that was refused last. */
  private async refusedBy({ id, position, lastError }: Webhook): Promise<StoredOutcome> {
    const [first] = await outcomesAfter(this.options.pool, BigInt(position), 1);
    if (first !== undefined && lastError?.endsWith(ofOutcome(first.id, ''))) return first;
    const why = '/from: "next" passes over an outcome only where its receiver refuses it';
    throw new PedigreeError('invalid_command', why, { field: '/from', item: id });
  }

  private cipher(): TokenCipher {
    const { cipher } = this.options;
    if (cipher !== undefined) return cipher;
    throw new PedigreeError('unavailable', 'the secret could not be kept: the gateway has no PEDIGREE_KEY_FILE', {
      field: 'PEDIGREE_KEY_FILE',
    });
  }

  private async one(id: string): Promise<Webhook> {
    const found = (await this.list()).find((webhook) => webhook.id === id);
    if (found === undefined)
      throw new PedigreeError('not_found', `there is no webhook ${id}`, { field: 'id', item: id });
    return found;
  }

  private async rows(): Promise<Row[]> {
    const { rows } = await this.options.pool.query<Row>(
      `SELECT id, url, description, created_by, created_at,
         CASE WHEN earlier_until > clock_timestamp() THEN earlier_until END AS earlier_until
       FROM webhook ORDER BY created_at, id LIMIT 1000`,
    );
    return rows;
  }

  private async note(
    type: string,
    data: Record<string, string>,
    { actor, reason }: { actor: Actor; reason?: string | undefined },
  ): Promise<void> {
    const name = deliveryName(data['id'] as string);
    const cause = { actor, reason, at: new Date(), correlationId: name, causationId: name };
    const event = newEvent({ type, data }, { says: this.options, ...cause });
    await this.options.store.append('configuration', 'any', [event]);
  }
}

/**
 * Behind every outcome that there is. After a restore the outbox is filled anew from the beginning of the log, and is
 * behind what was delivered before.
 */
async function placeOfNow(db: Queryable): Promise<bigint> {
  const [newest, delivered] = [await newestOutcome(db), await furthestDelivered(db)];
  return newest > delivered ? newest : delivered;
}

function webhookOf(
  row: Row,
  { position, behind, failures, failingSince, lastError, nextAttemptAt, haltedAt }: DeliveryState,
): Webhook {
  return {
    id: row.id,
    url: row.url.replace(/\?.+$/s, '?***'),
    ...(row.description === null ? {} : { description: row.description }),
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    state: haltedAt !== null ? 'halted' : failures > 0 ? 'retrying' : 'active',
    position: String(position),
    behind,
    failures,
    ...(failingSince === null ? {} : { failingSince: failingSince.toISOString() }),
    ...(lastError === null ? {} : { lastError }),
    ...(nextAttemptAt === null ? {} : { nextAttemptAt: nextAttemptAt.toISOString() }),
    ...(haltedAt === null ? {} : { haltedAt: haltedAt.toISOString() }),
    ...(row.earlier_until === null ? {} : { earlierSecretUntil: row.earlier_until.toISOString() }),
  };
}
