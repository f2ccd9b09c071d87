import { defined } from '#kernel';
import type { StoredOutcome } from '#read-models';
import type { Delivered } from '../outcomes/delivery.js';
import { delayedAbort } from '../outcomes/delayed-abort.js';
import { CLOUD_EVENT_TYPE } from '../outcomes/publisher.js';
import type { AddressRules } from './addresses.js';
import { post, type Answer } from './post.js';
import { signedHeaders } from './signature.js';

export interface SenderOptions {
  url: string;
  /** Those that hold at the moment: each signs. */
  secrets: () => readonly string[];
  rules: AddressRules;
  softwareVersion: string;
  /** Longest that one request takes. */
  timeoutMs: number;
  /** Requests under way at once, of different documents. Default 4. */
  concurrency?: number;
  /** How long a request under way may still take when the process is to end. Default 2,000. */
  abortDelayMs?: number;
}

const GONE = 410;

/**
 * Posts outcomes to one webhook. Those of one document go one after the other; those of different documents side by
 * side. With the first failure nothing new is begun. What was taken beyond it is remembered, so that this process does
 * not post it again.
 */
export class WebhookSender {
  /** Confirmed, and further on than the cursor. */
  private readonly ahead = new Set<string>();
  /** Where the newest batch began. */
  private from = 0n;

  constructor(private readonly options: SenderOptions) {}

  async deliver(
    batch: StoredOutcome[],
    turn: { mayStart(): boolean; signal: AbortSignal; isNew: boolean },
  ): Promise<Delivered> {
    // Sent back to an earlier place, it is to post everything anew. While others had the turn it may have been.
    const from = batch[0]?.position ?? this.from;
    if (from < this.from || turn.isNew) this.ahead.clear();
    this.from = from;
    const end = delayedAbort(turn.signal, this.options.abortDelayMs ?? 2_000);
    const lanes = bySubject(batch);
    const failures = new Map<string, Delivered['failure']>();
    const work = async (): Promise<void> => {
      for (let lane = lanes.shift(); lane !== undefined; lane = lanes.shift()) {
        for (const outcome of lane) {
          if (failures.size > 0 || !turn.mayStart()) return;
          if (this.ahead.has(outcome.id)) continue;
          const failed = await this.send(outcome, end.signal);
          if (failed === undefined) this.ahead.add(outcome.id);
          else failures.set(outcome.id, failed);
        }
      }
    };
    await Promise.all(Array.from({ length: this.options.concurrency ?? 4 }, work));
    end.forget();
    const stop = batch.findIndex((one) => !this.ahead.has(one.id));
    const confirmed = stop === -1 ? batch.length : stop;
    for (const one of batch.slice(0, confirmed)) this.ahead.delete(one.id);
    // The first in order, not in time: behind that one it may be told to go on.
    const failed = batch.find((one) => failures.has(one.id));
    return { confirmed, ...defined({ failure: failed && failures.get(failed.id) }) };
  }

  private async send({ id, body }: StoredOutcome, signal: AbortSignal): Promise<Delivered['failure']> {
    const { url, secrets, rules, softwareVersion, timeoutMs } = this.options;
    const headers = {
      'content-type': CLOUD_EVENT_TYPE,
      'user-agent': `pedigree/${softwareVersion}`,
      ...signedHeaders(secrets(), { id, at: new Date(), body }),
    };
    try {
      const failure = failureOf(await post(new URL(url), { rules, headers, body, timeoutMs, signal }));
      return failure && { ...failure, reason: ofOutcome(id, failure.reason) };
    } catch (error) {
      return { reason: ofOutcome(id, (error as Error).message) };
    }
  }
}

/** Why an outcome was not taken, and which one: whoever passes over it must know. */
export const ofOutcome = (id: string, reason: string): string => `${reason} (outcome ${id})`;

/** The outcomes of each document, in their order. */
function bySubject(batch: StoredOutcome[]): StoredOutcome[][] {
  const lanes = new Map<string, StoredOutcome[]>();
  for (const outcome of batch) {
    const lane = lanes.get(outcome.subject);
    if (lane === undefined) lanes.set(outcome.subject, [outcome]);
    else lane.push(outcome);
  }
  return [...lanes.values()];
}

/**
 * Nothing of an answer's body is told on: whoever registers a webhook could otherwise read what others serve inside the
 * network.
 */
function failureOf({ status, retryAfterMs }: Answer): Delivered['failure'] {
  if (status >= 200 && status < 300) return undefined;
  if (status === GONE) return { reason: 'the receiver answered 410: it wants no more', halt: true };
  const redirect = status >= 300 && status < 400 ? ', a redirect, which is not followed' : '';
  return {
    reason: `the receiver answered ${status}${redirect}`,
    ...defined({ retryAfterMs }),
  };
}
