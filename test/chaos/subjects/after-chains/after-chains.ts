import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import {
  complaints,
  type Ended,
  type LoadContext,
  type Message,
  type Subject,
  type TruthDocument,
} from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
/** Of each link the registry demands eight seconds at least: a small campaign has short chains. */
const LENGTH = 5;
const SHORT_LENGTH = 2;
const SMALL = 50;
const CHAINS_PER_DOCUMENTS = 40;

/**
 * Long chains by `after`, fed back to front now and then, some after a document that must be refused; the registry got
 * each in its turn.
 */
export const afterChains: Subject = { name: 'after-chains', load, check };

function load(context: LoadContext): Message[] {
  const chains = Math.max(2, Math.round(context.documents / CHAINS_PER_DOCUMENTS));
  return Array.from({ length: chains }, (_, n) => chain(context, n)).flat();
}

/**
 * Arrivals of consignments of their own, each after the one before; in every second chain after a rejected one, so that
 * all the rest is held until a person ends it.
 */
function chain(context: LoadContext, number: number): Message[] {
  const { random, world, accounts, seed, run, lastsMs, hasBroker } = context;
  const length = context.documents < SMALL ? SHORT_LENGTH : LENGTH;
  // Another run key than the day's: other packs.
  const letter = (value: number): string => String.fromCharCode(65 + (value % 26));
  const key = `${run}${letter(number)}${letter(Math.floor(number / 26))}`;
  const day = sampleDay({
    world,
    seed: (seed + number + 1) >>> 0,
    run: key,
    accounts,
    at: AT,
    consignments: length + 15,
  });
  const arrivals = day.filter((one) => one.after.length === 0 && one.expected === 'accepted').slice(0, length);
  const broken = number % 2 === 1 ? day.find((one) => one.expected === 'rejected') : undefined;
  const beginMs = random.below(Math.max(1, Math.round(lastsMs / 2)));
  const backwards = random.below(2) === 1;
  const links = broken === undefined ? arrivals : [broken, ...arrivals.slice(1)];
  return links.map((sample, n) => {
    const commandId = `chain-${number}-${n}`;
    const after = n === 0 ? [] : [`chain-${number}-${n - 1}`];
    const turn = backwards ? links.length - 1 - n : n;
    return {
      key: commandId,
      atMs: beginMs + turn * random.below(400),
      via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
      body: Buffer.from(JSON.stringify(erpCommand({ ...sample, commandId, after }, n))),
      commandId,
      after,
      expect: { kind: 'taken', outcome: broken === undefined ? 'accepted' : n === 0 ? 'rejected' : 'failed' },
    };
  });
}

/** Of all fed messages, not only those of this load: whatever names a predecessor came after it. */

async function check({ fed, registry, requestIdOf }: Ended): Promise<string[]> {
  const at = new Map<string, TruthDocument>(
    registry.filter((one) => one.account !== null).map((one) => [one.request_id, one]),
  );
  // A group comes after another with all its members.
  const membersOf = new Map(
    fed.map((one) => [one.commandId, one.documents?.map(({ commandId }) => commandId) ?? [one.commandId as string]]),
  );
  const documentsOf = (commandId: string): string[] => membersOf.get(commandId) ?? [commandId];
  const named = fed.flatMap((one) => (one.after ?? []).map((before) => [before, one.commandId as string] as const));
  const pairs = named.flatMap(([before, later]) =>
    documentsOf(before).flatMap((first) => documentsOf(later).map((second) => [first, second] as const)),
  );
  return complaints(pairs, ([before, later]) => {
    const second = at.get(requestIdOf(later));
    if (second === undefined) return undefined;
    const first = at.get(requestIdOf(before));
    if (first === undefined) return `${later} is at the registry, and ${before}, which it comes after, is not`;
    if (first.processed_at === null || first.processed_at > second.accepted_at)
      return `${later} was accepted at ${second.accepted_at}, before ${before} was processed at ${first.processed_at}`;
    return first.seq < second.seq ? undefined : `${later} came before ${before}`;
  });
}
