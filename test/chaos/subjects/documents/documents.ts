import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import {
  complaints,
  type Ended,
  type Fed,
  type LoadContext,
  type Message,
  type OurDocument,
  type Subject,
  type TruthDocument,
  type WantedOutcome,
} from '../subject.js';

/** A fixed day: the bytes of a command follow from the seed. */
const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_OF_CHAIN = 4;
/** The documents of a chain come within this time, in any order: a command may name one that comes later. */
const CHAIN_SPREAD_MS = 6_000;
/** Of four commands one goes over HTTP where there is a broker. */
const HTTP_EVERY = 4;

/**
 * A distributor's day of every sort of document, fed in a random order; every acknowledged command concludes as it
 * must, at the registry once.
 */
export const documents: Subject = { name: 'documents', load, check };

function load(context: LoadContext): Message[] {
  const { seed, run, world, accounts, random, lastsMs, hasBroker } = context;
  const consignments = Math.min(900, Math.max(1, Math.round(context.documents / DOCUMENTS_OF_CHAIN)));
  const day = sampleDay({ world, seed, run: `${run}ZZ`, accounts, at: AT, consignments });
  const begins = Array.from({ length: consignments }, () => random.below(Math.max(1, lastsMs - CHAIN_SPREAD_MS)));
  return day.map((sample, n) => ({
    key: sample.commandId,
    atMs: (begins[Math.floor(n / DOCUMENTS_OF_CHAIN)] as number) + random.below(Math.min(lastsMs, CHAIN_SPREAD_MS)),
    via: hasBroker && random.below(HTTP_EVERY) > 0 ? 'amqp' : 'http',
    body: Buffer.from(JSON.stringify(erpCommand(sample, n))),
    commandId: sample.commandId,
    after: sample.after,
    expect: { kind: 'taken', outcome: sample.expected },
  }));
}

async function check({ fed, ours, registry, requestIdOf }: Ended): Promise<string[]> {
  const wanted = new Map(
    fed.flatMap((one) =>
      wantedOf(one).map(
        ({ commandId, outcome }) => [requestIdOf(commandId), { fed: one, commandId, outcome }] as const,
      ),
    ),
  );
  const sent = registry.filter((one) => one.account !== null && one.notice_of === null);
  const byRequest = byRequestId(sent);
  return [
    ...complaints(fed, (one) =>
      one.expect.kind === 'taken' && one.acknowledgedMs === undefined
        ? `${one.key} was never acknowledged (${one.attempts} attempts, ${one.refusedCode ?? 'no refusal'})`
        : undefined,
    ),
    ...complaints(wanted, ([requestId, one]) => outcomeComplaint(one, ours.get(requestId))),
    ...complaints(byRequest, ([requestId, all]) =>
      all.length > 1 ? `the registry has ${requestId} ${all.length} times` : undefined,
    ),
    ...complaints(sent, (one) => (one.sends === 1 ? undefined : `${one.request_id} was sent ${one.sends} times`)),
    ...complaints(byRequest.keys(), (requestId) =>
      ours.has(requestId) ? undefined : `the registry has ${requestId}, which Pedigree does not know`,
    ),
    ...complaints(ours.values(), (one) =>
      one.commandId === undefined || wanted.has(one.requestId)
        ? undefined
        : `Pedigree has ${one.commandId}, which nobody gave`,
    ),
    ...complaints(ours.values(), (one) =>
      isMissing(one.outcome, byRequest.has(one.requestId))
        ? `${one.commandId} is ${one.outcome}, and the registry does not have it`
        : undefined,
    ),
  ];
}

function byRequestId(sent: TruthDocument[]): Map<string, TruthDocument[]> {
  const groups = new Map<string, TruthDocument[]>();
  for (const one of sent) groups.set(one.request_id, [...(groups.get(one.request_id) ?? []), one]);
  return groups;
}

interface Wanted {
  fed: Fed;
  commandId: string;
  outcome: WantedOutcome;
}

/** The documents that must come of a message. */
function wantedOf({ expect, commandId, documents }: Fed): { commandId: string; outcome: WantedOutcome }[] {
  if (expect.kind !== 'taken' || commandId === undefined) return [];
  return documents ?? [{ commandId, outcome: expect.outcome }];
}

function outcomeComplaint({ fed, commandId, outcome }: Wanted, is: OurDocument | undefined): string | undefined {
  const isWanted = outcome === 'any' ? is?.outcome !== undefined : is?.outcome === outcome;
  if (fed.acknowledgedMs === undefined || isWanted) return undefined;
  return `${commandId} (${fed.via}) should be ${outcome} and is ${is?.outcome ?? is?.phase ?? 'unknown'}`;
}

const isMissing = (outcome: string | undefined, there: boolean): boolean =>
  outcome !== undefined && outcome !== 'failed' && !there;
