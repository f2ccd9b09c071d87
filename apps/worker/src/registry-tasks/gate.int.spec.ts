import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GateFinding, GatePolicy } from '#domain';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { Breaker, isBreakers, type Fault } from '../../test/breaker.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  asTask,
  eventsOf,
  newestTask,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  storesForSpec,
} from '../../test/test-harness.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskContext } from './context.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const FINDING: GateFinding = { packs: [{ item: 'A', reasons: ['not_in_trade'] }], packCount: 1, knownAt: '5' };
const FITS: GateFinding = { packs: [], packCount: 0, knownAt: '9' };

/** What a worker is told at the gate; may be changed in between. */
class FakeSequence {
  policy: GatePolicy = 'refuse';
  finding: GateFinding = FINDING;
  stillMs: number | undefined;
  judged = 0;
  readonly needed: (string | undefined)[] = [];

  policyOf(): GatePolicy {
    return this.policy;
  }
  neededAt(_requestId: string, planned: string | undefined): Promise<bigint> {
    this.needed.push(planned);
    return Promise.resolve(7n);
  }
  behind() {
    return Promise.resolve(this.stillMs === undefined ? undefined : { position: 6n, stillMs: this.stillMs });
  }
  judge(): Promise<GateFinding> {
    this.judged += 1;
    return Promise.resolve(this.finding);
  }
}

const clock = new VirtualClock(new Date());

function worker(sequence: FakeSequence, breaker = new Breaker(undefined)) {
  const registry = new FakeRegistry(['ok', 'ok']);
  const store = breaker.around(stores.store, ['append']);
  return { registry, context: { ...processOn({ ...stores, store, registry, clock }), sequence } satisfies TaskContext };
}

async function document(more: object = {}) {
  const { requestId } = await registerDocument(stores, undefined, { docType: 415, ...more });
  const [send] = await plannedTasks(stores.store, requestId);
  return { requestId, send: asTask(send!) };
}
const typesOf = async (requestId: string) => (await eventsOf(stores.store, requestId)).map((event) => event.type);

describe('a document whose packs forbid it', () => {
  it('is held, once, and its send is over; where the installation warns it is sent', async () => {
    const sequence = new FakeSequence();
    const { registry, context } = worker(sequence);
    const one = await document();
    expect(await runTask(context, one.send)).toEqual({ kind: 'done' });
    expect(await runTask(context, { ...one.send, lease: '1:2' })).toEqual({ kind: 'done' });
    expect(await typesOf(one.requestId)).toEqual(['DocumentRegistered', 'DocumentHeld']);
    expect(registry.calls).not.toContain('sendDocument');
    sequence.policy = 'warn';
    const other = await document();
    await runTask(context, other.send);
    expect(await typesOf(other.requestId)).toEqual([
      'DocumentRegistered',
      'GateWarned',
      'SendAttempted',
      'DocumentSent',
    ]);
  });

  it.each([
    ['names no item', { itemCount: 0 }],
    ['waives the wait for its items', { waivesItemWait: true }],
  ])('is not judged when it %s', async (_, more) => {
    const sequence = new FakeSequence();
    const { requestId, send } = await document(more);
    await runTask(worker(sequence).context, send);
    expect(sequence.judged).toBe(0);
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted', 'DocumentSent']);
  });

  it('waits for the record of packs, and is sent with a warning where that stands still', async () => {
    const sequence = new FakeSequence();
    sequence.stillMs = 599_999;
    const { context } = worker(sequence);
    const { requestId, send } = await document();
    expect(await runTask(context, send)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered']);
    sequence.stillMs = 600_000;
    await runTask(context, send);
    const [, warned] = await eventsOf(stores.store, requestId);
    expect(warned).toMatchObject({ type: 'GateWarned', data: { packCount: 0, knownAt: '6', neededAt: '7' } });
    expect(sequence.judged).toBe(0);
  });

  it('is left alone by a send that was planned before a hold, while it waits for its send and while that is made', async () => {
    const sequence = new FakeSequence();
    sequence.finding = FITS;
    const { context, registry } = worker(sequence);
    const { requestId, send } = await document();
    const cause = { taskKey: `hold:${requestId}`, lease: '1:1', actor: SYSTEM };
    await context.documents.execute(requestId, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' }, cause);
    await context.documents.execute(requestId, { type: 'WaiveHolds', predecessors: ['person@1'] }, cause);
    expect(await runTask(context, send)).toEqual({ kind: 'done' });
    const { judged } = sequence;
    registry.beforeSend = async () => {
      expect(await runTask(worker(sequence).context, send)).toEqual({ kind: 'done' });
    };
    await runTask(context, await newestTask(stores.store, requestId, 'send'));
    const types = await typesOf(requestId);
    expect([judged, types.slice(-3)]).toEqual([0, ['DocumentReleased', 'SendAttempted', 'DocumentSent']]);
  });

  it('goes by itself when they fit, and by a send of its own', async () => {
    const sequence = new FakeSequence();
    const { context, registry } = worker(sequence);
    const { requestId, send } = await document();
    await runTask(context, send);
    const rejudge = await newestTask(stores.store, requestId, 'rejudge_at_gate');
    expect(await runTask(context, rejudge)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    sequence.finding = FITS;
    expect(await runTask(context, rejudge)).toEqual({ kind: 'done' });
    const again = await newestTask(stores.store, requestId, 'send');
    expect(again.key).toBe(`send:${requestId}:1:gate-1`);
    await runTask(context, again);
    expect(await typesOf(requestId)).toEqual([
      ...['DocumentRegistered', 'DocumentHeld', 'GateHoldLifted', 'DocumentReleased', 'SendAttempted', 'DocumentSent'],
    ]);
    expect(registry.calls.filter((call) => call === 'sendDocument')).toHaveLength(1);
    expect(await runTask(context, { ...rejudge, lease: '1:9' })).toEqual({ kind: 'done' });
  });

  it('goes when the installation holds its type no longer', async () => {
    const sequence = new FakeSequence();
    const { context } = worker(sequence);
    const { requestId, send } = await document();
    await runTask(context, send);
    sequence.policy = 'warn';
    await runTask(context, await newestTask(stores.store, requestId, 'rejudge_at_gate'));
    expect((await typesOf(requestId)).at(-1)).toBe('DocumentReleased');
  });
});

describe('a crash at the gate', () => {
  const STEPS = ['append DocumentHeld', 'append GateWarned', 'append SendAttempted'];
  const cases = STEPS.flatMap((call) => (['before', 'after'] as Fault[]).map((fault) => [call, fault] as const));

  it.each(cases)('at %s, %s it: the next worker goes on from there', async (call, fault) => {
    const sequence = new FakeSequence();
    sequence.policy = call === 'append DocumentHeld' ? 'refuse' : 'warn';
    const breaker = new Breaker({ at: { call }, fault, dies: true });
    const first = worker(sequence, breaker);
    const { requestId, send } = await document();
    await runTask(first.context, send).catch((error: unknown) => {
      if (!isBreakers(error as Error)) throw error;
    });
    expect(breaker.struck).toBe(true);
    const second = worker(sequence);
    await runTask(second.context, { ...send, lease: '1:2', attempts: 2, leaseExpiredBefore: true });
    const types = await typesOf(requestId);
    const isHeld = sequence.policy === 'refuse';
    expect(types.filter((one) => one === 'DocumentHeld')).toHaveLength(isHeld ? 1 : 0);
    expect(types.filter((one) => one === 'GateWarned')).toHaveLength(isHeld ? 0 : 1);
    expect(types.filter((one) => one === 'SendAttempted')).toHaveLength(isHeld ? 0 : 1);
    expect(first.registry.calls).not.toContain('sendDocument');
  });
});

describe('two workers with one send', () => {
  it('hold it or send it, and never both, whichever record of packs each has seen', async () => {
    const forbids = new FakeSequence();
    const fits = new FakeSequence();
    fits.finding = FITS;
    for (let trial = 0; trial < 20; trial += 1) {
      const [a, b] = [worker(forbids), worker(fits)];
      const { requestId, send } = await document();
      await Promise.all([a, b].map(({ context }) => context.documents.state(requestId)));
      const runs = [() => runTask(a.context, send), () => runTask(b.context, { ...send, lease: '1:2' })];
      await Promise.all((trial % 2 === 0 ? runs : runs.reverse()).map((run) => run()));
      const types = await typesOf(requestId);
      expect(types.includes('DocumentHeld')).not.toBe(types.includes('SendAttempted'));
      const calls = [...a.registry.calls, ...b.registry.calls].filter((call) => call === 'sendDocument');
      expect(calls).toHaveLength(types.includes('DocumentHeld') ? 0 : 1);
    }
  });
});
