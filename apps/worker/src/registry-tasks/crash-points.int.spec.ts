import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DocumentOutcome } from '#domain';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { Breaker, isBreakers, type Fault } from '../../test/breaker.js';
import { FakeRegistry, type SendFate } from '../../test/fake-registry.js';
import { FakeUploads, type UploadFates } from '../../test/fake-uploads.js';
import {
  eventsOf,
  processOn,
  registerDocument,
  SMALL_LIMITS,
  stateIn,
  storesForSpec,
  workOff,
} from '../../test/test-harness.js';
import type { TaskContext } from './context.js';

/** Who goes on with the task. */
type Survivor =
  | 'a new process'
  /** The fault was the database's or the network's: the process lives and remembers. */
  | 'the same process'
  /** Another worker, which knew the document before the first one touched it. */
  | 'a process with old memories';

const FAULTS: Fault[] = ['before', 'after'];
const SURVIVORS: Survivor[] = ['a new process', 'the same process', 'a process with old memories'];
/** Trials at the same time: they share the database and nothing else. */
const TOGETHER = 16;

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const WATCHED = {
  store: ['append', 'readStream'],
  evidence: ['put', 'get'],
  registry: ['sign', 'sendDocument', 'findByRequestId', 'documentStatus', 'receipt', 'downloadDocument'],
  largeDocuments: ['step'],
  uploadLinks: ['keep', 'find', 'forget'],
};

interface Case {
  fates: SendFate[];
  /** Set for a document that goes up in parts. */
  upload?: UploadFates;
  plan?: { at: number; fault: Fault; survivor: Survivor };
}

interface Ending {
  outcome: DocumentOutcome | undefined;
  /** Registry documents with this request_id. */
  taken: number;
  sends: number;
  calls: number;
  struck: boolean;
  /** Sends that were made although an earlier attempt might still have landed. */
  unproven: string[];
}

/** Lives through one document's whole life with one fault in it. */
async function live({ fates, upload, plan }: Case): Promise<Ending> {
  const clock = new VirtualClock(new Date());
  const registry = new FakeRegistry(fates);
  const { requestId } = await registerDocument(stores);
  const complaints: (string | undefined)[] = [];
  registry.beforeSend = async () => void complaints.push(await whyNotToSend(requestId, registry));
  const largeDocuments = new FakeUploads(registry, upload);
  largeDocuments.beforeFinish = async () => void complaints.push(await whyNotToFinish(requestId, registry));
  const profile = upload === undefined ? {} : { profile: SMALL_LIMITS };
  const breaker = new Breaker(plan === undefined ? undefined : { ...plan, dies: plan.survivor !== 'the same process' });
  const parts = {
    store: breaker.around(stores.store, WATCHED.store),
    evidence: breaker.around(stores.evidence, WATCHED.evidence),
    registry: breaker.around(registry, WATCHED.registry),
  };
  const uploads = {
    largeDocuments: breaker.around(largeDocuments, WATCHED.largeDocuments),
    uploadLinks: breaker.around(stores.uploadLinks, WATCHED.uploadLinks),
  };
  const first = processOn({ ...parts, ...uploads, ...profile, clock });
  const second = processOn({ ...stores, registry, largeDocuments, ...profile, clock });
  if (plan?.survivor === 'a process with old memories') await second.documents.state(requestId);
  let current: TaskContext = first;
  const thrown = (error: Error): void => {
    if (!isBreakers(error)) throw error;
    if (plan?.survivor !== 'the same process') current = second;
  };
  const failed = await workOff({ context: () => current, thrown, clock, store: stores.store }, requestId);
  expect(failed).toEqual([]);
  const state = await stateIn(stores.store, requestId);
  return {
    outcome: state.phase === 'concluded' ? state.outcome : undefined,
    taken: registry.taken.get(requestId)?.length ?? 0,
    sends: sendsIn(registry),
    calls: breaker.calls,
    struck: breaker.struck,
    unproven: complaints.filter((one) => one !== undefined),
  };
}

/**
 * A send is right when its intent is the newest event, is its own, and every earlier intent is proven not to have
 * landed.
 */
async function whyNotToSend(requestId: string, registry: FakeRegistry): Promise<string | undefined> {
  if (registry.taken.has(requestId)) return 'the registry has it already';
  const events = await eventsOf(stores.store, requestId);
  const attempts = events.filter((event) => event.type === 'SendAttempted');
  if (events.at(-1)?.type !== 'SendAttempted') return `the newest event is ${events.at(-1)?.type}`;
  if (attempts.length < sendsIn(registry)) return 'this attempt was made before';
  const open = attempts
    .slice(0, -1)
    .find(
      ({ data }) =>
        !events.some(
          (event) =>
            (event.type === 'SendNotDelivered' || event.type === 'SendAbsenceProven') &&
            event.data.attempt === data.attempt,
        ),
    );
  return open === undefined ? undefined : `attempt ${open.data.attempt} may still land`;
}

/**
 * An end is right when its intent is the newest event, is its own, and every earlier one is proven not to have landed.
 */
async function whyNotToFinish(requestId: string, registry: FakeRegistry): Promise<string | undefined> {
  const events = await eventsOf(stores.store, requestId);
  const intents = events.filter((event) => event.type === 'UploadFinishAttempted');
  if (events.at(-1)?.type !== 'UploadFinishAttempted') return `the newest event is ${events.at(-1)?.type}`;
  if (intents.length < registry.calls.filter((call) => call === 'finish').length) return 'this end was told before';
  const open = intents
    .slice(0, -1)
    .find(
      ({ data }) =>
        !events.some(
          (event) =>
            (event.type === 'UploadFinishNotDelivered' || event.type === 'UploadProvenOpen') &&
            event.data.round === data.round,
        ),
    );
  return open === undefined ? undefined : `the end of round ${open.data.round} may still land`;
}

const sendsIn = (registry: FakeRegistry): number =>
  registry.calls.filter((call) => call === 'sendDocument' || call === 'announce').length;

/**
 * Every call of the undisturbed life, times every fault, times every survivor; of an upload, whose life is long, times
 * the one that remembers nothing.
 */
async function everyFault(
  fates: SendFate[],
  upload?: UploadFates,
): Promise<{ plan: NonNullable<Case['plan']>; ending: Ending }[]> {
  const of = upload === undefined ? { fates } : { fates, upload };
  const { calls } = await live(of);
  const plans = Array.from({ length: calls }, (_, n) => n + 1).flatMap((at) =>
    FAULTS.flatMap((fault) =>
      (upload === undefined ? SURVIVORS : ['a new process' as const]).map((survivor) => ({ at, fault, survivor })),
    ),
  );
  const endings: { plan: NonNullable<Case['plan']>; ending: Ending }[] = [];
  for (let from = 0; from < plans.length; from += TOGETHER) {
    endings.push(
      ...(await Promise.all(
        plans.slice(from, from + TOGETHER).map(async (plan) => ({ plan, ending: await live({ ...of, plan }) })),
      )),
    );
  }
  return endings;
}

describe('a fault at each call of a document’s life', () => {
  const cases: [string, SendFate[], DocumentOutcome, number][] = [
    ['all is well', ['ok'], 'accepted', 1],
    ['the registry refuses the send, for good', Array.from({ length: 6 }, () => 'refused' as const), 'failed', 0],
    ['the send is limited', ['rate_limited'], 'accepted', 1],
    ['the registry is not reached', ['not_sent'], 'accepted', 1],
    ['the send is taken and the answer lost', ['unknown_taken'], 'accepted', 1],
    ['the send is lost', ['unknown_lost'], 'accepted', 1],
    ['the send lands after the first look-up', ['unknown_late'], 'accepted', 1],
  ];

  it.each(cases)('when %s: sent again only with proof, and concluded', async (_name, fates, outcome, taken) => {
    const lives = await everyFault(fates);
    expect(lives.length).toBeGreaterThan(40);
    expect(lives.filter(({ ending }) => !ending.struck)).toEqual([]);
    expect(lives.filter(({ ending }) => ending.unproven.length > 0)).toEqual([]);
    expect(lives.filter(({ ending }) => ending.outcome !== outcome || ending.taken !== taken)).toEqual([]);
  });

  const uploads: [string, UploadFates, DocumentOutcome, number][] = [
    ['all is well', {}, 'accepted', 1],
    ['the announcement is taken and the answer lost', { announce: ['unknown_taken'] }, 'accepted', 1],
    ['the announcement lands after the first look-up', { announce: ['unknown_late'] }, 'accepted', 1],
    ['a part is lost, and one is refused', { part: ['unknown', 'refused'] }, 'accepted', 1],
    ['the end is taken and the answer lost', { finish: ['unknown_taken'] }, 'accepted', 1],
    ['the end is lost', { finish: ['unknown_lost'] }, 'accepted', 1],
    ['the end lands after the first look-up', { finish: ['unknown_late'] }, 'accepted', 1],
    ['the end is limited, and then refused once', { finish: ['rate_limited', 'refused'] }, 'accepted', 1],
    [
      'the registry refuses the end for good',
      { finish: Array.from({ length: 6 }, () => 'refused' as const) },
      'failed',
      1,
    ],
  ];

  it.each(uploads)(
    'of a large document, when %s: nothing is told twice without proof',
    async (_name, upload, outcome, taken) => {
      const lives = await everyFault([], upload);
      expect(lives.length).toBeGreaterThan(20);
      expect(lives.filter(({ ending }) => !ending.struck)).toEqual([]);
      expect(lives.filter(({ ending }) => ending.unproven.length > 0)).toEqual([]);
      expect(lives.filter(({ ending }) => ending.outcome !== outcome || ending.taken !== taken)).toEqual([]);
    },
  );

  it('would see a send without proof', async () => {
    const registry = new FakeRegistry();
    const { requestId } = await registerDocument(stores);
    const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
    const by = {
      taskKey: `send:${requestId}:1`,
      lease: '1:2',
      actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
    } as const;
    expect(await whyNotToSend(requestId, registry)).toMatch(/newest event is DocumentRegistered/);
    await context.documents.execute(
      requestId,
      { type: 'BeginSend', signatureSha256: 'a'.repeat(64), certificateSha256: 'a'.repeat(64) },
      by,
    );
    expect(await whyNotToSend(requestId, registry)).toBeUndefined();
    registry.calls.push('sendDocument', 'sendDocument');
    expect(await whyNotToSend(requestId, registry)).toMatch(/made before/);
  });
});
