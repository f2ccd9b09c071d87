import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import type { LoadContext, Message, Subject } from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_PER_JOIN = 25;
const LEAST = 2;
const MOST = 4;
/** Within this time they all come, in any order. */
const SPREAD_MS = 8_000;

/**
 * Documents that come after two to four others, which end at different times. The registry got each one after the last
 * of them: the check is that of the chains, which looks at every pair.
 */
export const severalPredecessors: Subject = { name: 'several-predecessors', load };

function load(context: LoadContext): Message[] {
  const joins = Math.max(2, Math.round(context.documents / DOCUMENTS_PER_JOIN));
  return Array.from({ length: joins }, (_, n) => join(context, n)).flat();
}

function join({ random, world, accounts, seed, run, lastsMs, hasBroker }: LoadContext, number: number): Message[] {
  const predecessors = LEAST + random.below(MOST - LEAST + 1);
  const key = `${run}2${String.fromCharCode(65 + (number % 26))}`;
  const day = sampleDay({
    world,
    seed: (seed + 11_000 + number) >>> 0,
    run: key,
    accounts,
    at: AT,
    consignments: MOST + 15,
  });
  const arrivals = day
    .filter((one) => one.after.length === 0 && one.expected === 'accepted')
    .slice(0, predecessors + 1);
  const beginMs = random.below(Math.max(1, lastsMs - SPREAD_MS));
  const ids = arrivals.map((_, n) => `join-${number}-${n}`);
  return arrivals.map((sample, n) => {
    const after = n < predecessors ? [] : ids.slice(0, predecessors);
    const commandId = ids[n] as string;
    return {
      key: commandId,
      atMs: beginMs + random.below(Math.min(SPREAD_MS, lastsMs)),
      via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
      body: Buffer.from(JSON.stringify(erpCommand({ ...sample, commandId, after }, n))),
      commandId,
      after,
      expect: { kind: 'taken', outcome: 'accepted' },
    };
  });
}
