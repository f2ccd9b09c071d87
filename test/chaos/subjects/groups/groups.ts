import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import { buildDocument } from '#documents';
import {
  complaints,
  type Ended,
  type LoadContext,
  type Message,
  type Subject,
  type TruthDocument,
} from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_PER_GROUP = 25;
const MEMBERS = 3;
/** Consignments from the thirteenth on have documents that must be rejected. */
const CONSIGNMENTS = 16;

/** This one comes after another that ends well. */
const LATER = 2;
const EARLIER = 0;

/**
 * Groups that are processed in order, one of them after another group, every second one with a member that must be
 * rejected: the documents after it are not processed, and said so.
 */
export const groups: Subject = { name: 'groups', load, check };

function load(context: LoadContext): Message[] {
  const count = Math.max(1, Math.round(context.documents / DOCUMENTS_PER_GROUP));
  return Array.from({ length: count }, (_, n) => group(context, n));
}

function group({ random, world, accounts, seed, run, lastsMs, hasBroker }: LoadContext, number: number): Message {
  const key = `${run}1${String.fromCharCode(65 + (number % 26))}`;
  const seedOfDay = (seed + 7_000 + number) >>> 0;
  const day = sampleDay({ world, seed: seedOfDay, run: key, accounts, at: AT, consignments: CONSIGNMENTS });
  const arrivals = day.filter((one) => one.after.length === 0 && one.expected === 'accepted').slice(0, MEMBERS);
  const rejected = number % 2 === 1 ? day.find((one) => one.expected === 'rejected') : undefined;
  const samples =
    rejected === undefined ? arrivals : [arrivals[0], rejected, arrivals[2]].filter((one) => one !== undefined);
  const commandId = `group-${number}`;
  const after = number === LATER ? [`group-${EARLIER}`] : [];
  const members = samples.map((sample, n) => ({
    command_id: `${commandId}-${n}`,
    xml: buildDocument(sample.document).toString('utf8'),
  }));
  return {
    key: commandId,
    atMs: random.below(lastsMs),
    via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
    body: Buffer.from(
      JSON.stringify({
        command_id: commandId,
        type: 'send_group',
        account: random.pick(accounts),
        after,
        group: { members },
      }),
    ),
    commandId,
    after,
    documents: members.map((one, n) => ({
      commandId: one.command_id,
      outcome: rejected === undefined || n === 0 ? 'accepted' : n === 1 ? 'rejected' : 'failed',
    })),
    expect: { kind: 'taken', outcome: rejected === undefined ? 'accepted' : 'partial' },
  };
}

/** The members came to the registry in their order, and none was processed before the one in front of it. */

async function check({ fed, registry, requestIdOf }: Ended): Promise<string[]> {
  const at = new Map(registry.filter((one) => one.account !== null).map((one) => [one.request_id, one]));
  const pairs = fed.flatMap(({ documents = [] }) =>
    documents.slice(1).map((later, n) => [documents[n]?.commandId as string, later.commandId] as const),
  );
  return complaints(pairs, ([before, later]) => outOfOrder(at.get(requestIdOf(before)), at.get(requestIdOf(later))));
}

function outOfOrder(first: TruthDocument | undefined, second: TruthDocument | undefined): string | undefined {
  if (second === undefined) return undefined;
  if (first === undefined) return `${second.request_id} is at the registry, and the member in front of it is not`;
  const inTime =
    second.processed_at === null || (first.processed_at !== null && first.processed_at <= second.processed_at);
  return first.seq < second.seq && inTime
    ? undefined
    : `${second.request_id} overtook the member in front of it, ${first.request_id}`;
}
