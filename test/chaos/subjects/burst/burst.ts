import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import type { LoadContext, Message, Subject } from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
const SHARE = 6;
const MOST = 30;
/**
 * The intervals of one account let about three of them out in a second, so that many are on their way when the pause
 * begins.
 */
const BEFORE_MS = 2_000;
const LASTS_MS = 6_000;
/** Consignments from the thirteenth on have documents that must be rejected, and each has one arrival. */
const SPARE = 16;

/**
 * Many documents of one account just before a worker is frozen: it is then in the middle of several sends, between
 * their intents and their calls.
 */
export const burst: Subject = { name: 'burst', load };

function load({ random, world, accounts, seed, run, documents, longPauseAtMs, hasBroker }: LoadContext): Message[] {
  const count = Math.min(MOST, Math.max(2, Math.round(documents / SHARE)));
  const day = sampleDay({
    world,
    seed: (seed ^ 0xb0257) >>> 0,
    run: `${run}3A`,
    accounts: accounts.slice(0, 1),
    at: AT,
    consignments: count + SPARE,
  });
  const arrivals = day.filter((one) => one.after.length === 0 && one.expected === 'accepted').slice(0, count);
  const beginMs = Math.max(0, longPauseAtMs - BEFORE_MS);
  return arrivals.map((sample, n): Message => {
    const commandId = `burst-${n}`;
    return {
      key: commandId,
      atMs: beginMs + random.below(LASTS_MS),
      via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
      body: Buffer.from(JSON.stringify(erpCommand({ ...sample, commandId }, n))),
      commandId,
      expect: { kind: 'taken', outcome: 'accepted' },
    };
  });
}
