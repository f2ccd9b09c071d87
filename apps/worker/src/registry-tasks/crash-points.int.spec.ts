import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DocumentOutcome } from '#domain';
import { VirtualClock } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, type SendFate } from '../../test/fake-registry.js';
import { eventsOf, openStores, processOn, registerDocument, stateIn, workOff, type Stores } from '../../test/trial.js';
import type { TaskContext } from './context.js';

/** What strikes at one call of the log, the evidence or the registry. */
type Fault = 'before' /** it was not done */ | 'after' /** it was done, and nobody learns of it */;

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

let db: TestDatabase;
let stores: Stores;
beforeAll(async () => {
  db = await testDatabase();
  stores = await openStores(db.pool);
});
afterAll(async () => {
  await stores.close();
  await db.drop();
});

/** Counts the calls that reach outside the process, and lets one of them fail. After a death nothing gets out any more. */
class Breaker {
  calls = 0;
  struck = false;
  private dead = false;

  constructor(private readonly plan: { at: number; fault: Fault; dies: boolean } | undefined) {}

  around<T extends object>(target: T, methods: string[]): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== 'function') return value;
        const method = value.bind(object) as (...args: unknown[]) => unknown;
        return methods.includes(String(name)) ? (...args: unknown[]) => this.call(() => method(...args)) : method;
      },
    });
  }

  private async call(make: () => unknown): Promise<unknown> {
    if (this.dead) throw new Error('the process is dead');
    this.calls += 1;
    if (this.calls !== this.plan?.at) return make();
    this.struck = true;
    this.dead = this.plan.dies;
    if (this.plan.fault === 'after') await make();
    throw new Error(`struck ${this.plan.fault} call ${this.plan.at}`);
  }
}

const WATCHED = { store: ['append', 'readStream'], evidence: ['put', 'get'], registry: ['sign', 'sendDocument', 'findByRequestId', 'documentStatus', 'receipt', 'downloadDocument'] };

interface Case {
  fates: SendFate[];
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
async function live({ fates, plan }: Case): Promise<Ending> {
  const clock = new VirtualClock(new Date());
  const registry = new FakeRegistry(fates);
  const { requestId } = await registerDocument(stores);
  const unproven: string[] = [];
  registry.beforeSend = async () => {
    const complaint = await whyNotToSend(requestId, registry);
    if (complaint !== undefined) unproven.push(complaint);
  };
  const breaker = new Breaker(plan === undefined ? undefined : { ...plan, dies: plan.survivor !== 'the same process' });
  const parts = { store: breaker.around(stores.store, WATCHED.store), evidence: breaker.around(stores.evidence, WATCHED.evidence), registry: breaker.around(registry, WATCHED.registry) };
  const first = processOn({ ...parts, clock });
  const second = processOn({ ...stores, registry, clock });
  if (plan?.survivor === 'a process with old memories') await second.documents.state(requestId);
  let current: TaskContext = first;
  const thrown = (error: Error): void => {
    // Of two calls made together the second may speak first.
    if (!/^struck|^the process is dead/.test(error.message)) throw error;
    if (plan?.survivor !== 'the same process') current = second;
  };
  const failed = await workOff({ context: () => current, thrown, clock, store: stores.store }, requestId);
  expect(failed).toEqual([]);
  const state = await stateIn(stores.store, requestId);
  return {
    outcome: state.phase === 'concluded' ? state.outcome : undefined,
    taken: registry.taken.get(requestId)?.length ?? 0,
    sends: registry.calls.filter((call) => call === 'sendDocument').length,
    calls: breaker.calls,
    struck: breaker.struck,
    unproven,
  };
}

/** A send is right when its intent is the newest event, is its own, and every earlier intent is proven not to have landed. */
async function whyNotToSend(requestId: string, registry: FakeRegistry): Promise<string | undefined> {
  if (registry.taken.has(requestId)) return 'the registry has it already';
  const events = await eventsOf(stores.store, requestId);
  const attempts = events.filter((event) => event.type === 'SendAttempted');
  if (events.at(-1)?.type !== 'SendAttempted') return `the newest event is ${events.at(-1)?.type}`;
  if (attempts.length < registry.calls.filter((call) => call === 'sendDocument').length) return 'this attempt was made before';
  const open = attempts.slice(0, -1).find(({ data }) => !events.some((event) => (event.type === 'SendNotDelivered' || event.type === 'SendAbsenceProven') && event.data.attempt === data.attempt));
  return open === undefined ? undefined : `attempt ${open.data.attempt} may still land`;
}

/** Every call of the undisturbed life, times every fault, times every survivor. */
async function everyFault(fates: SendFate[]): Promise<{ plan: NonNullable<Case['plan']>; ending: Ending }[]> {
  const { calls } = await live({ fates });
  const plans = Array.from({ length: calls }, (_, n) => n + 1).flatMap((at) => FAULTS.flatMap((fault) => SURVIVORS.map((survivor) => ({ at, fault, survivor }))));
  const endings: { plan: NonNullable<Case['plan']>; ending: Ending }[] = [];
  for (let from = 0; from < plans.length; from += TOGETHER) {
    endings.push(...(await Promise.all(plans.slice(from, from + TOGETHER).map(async (plan) => ({ plan, ending: await live({ fates, plan }) })))));
  }
  return endings;
}

describe('a fault at each call of a document’s life', () => {
  const cases: [string, SendFate[], DocumentOutcome, number][] = [
    ['all is well', ['ok'], 'accepted', 1],
    ['the registry refuses the send', ['refused', 'refused'], 'failed', 0],
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

  it('would see a send without proof', async () => {
    const registry = new FakeRegistry();
    const { requestId } = await registerDocument(stores);
    const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
    const by = { taskKey: `send:${requestId}:1`, actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' } } as const;
    expect(await whyNotToSend(requestId, registry)).toMatch(/newest event is DocumentRegistered/);
    await context.documents.execute(requestId, { type: 'BeginSend', signatureSha256: 'a'.repeat(64), certificateSha256: 'a'.repeat(64) }, by);
    expect(await whyNotToSend(requestId, registry)).toBeUndefined();
    registry.calls.push('sendDocument', 'sendDocument');
    expect(await whyNotToSend(requestId, registry)).toMatch(/made before/);
  });
});
