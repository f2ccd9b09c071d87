import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GroupRegistration, PlannedTask, SuspensionFinding, TaskKind, UnknownSeriesPolicy } from '#domain';
import { VirtualClock } from '#kernel';
import type { InForce } from '#read-models';
import { testDatabase } from '../../../../test/support/database.js';
import { Breaker, isBreakers, type Fault } from '../../test/breaker.js';
import { FakeGroups } from '../../test/fake-groups.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  acceptGroup,
  asTask,
  eventsOf,
  groupStateIn,
  newestTask,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  stateIn,
  storesForSpec,
} from '../../test/test-harness.js';
import type { TaskContext } from './context.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
const SGTIN = '046070000000011234567890123';
const SERIES = {
  ...{ gtin: SGTIN.slice(0, 14), series: 'A', suspensions: ['s-1'], packs: [SGTIN], packCount: 1 },
};
const UNKNOWN = { unknown: { items: [SGTIN], itemCount: 1 } };

/** What a worker knows of suspensions; may be changed in between. */
class FakeStop {
  unknownSeries: UnknownSeriesPolicy = 'pass';
  isSuspended = true;
  isUnknown = false;
  suspensions = SERIES.suspensions;
  head = 10n;
  changedAt = 5n;
  judged = 0;
  /** Before each question to the log. */
  before: (question: number) => void = () => undefined;
  private questions = 0;

  stops(docType: number): boolean {
    return docType === 415;
  }
  inForce(): Promise<InForce> {
    this.before((this.questions += 1));
    this.head += 1n;
    const { head: knownAt, changedAt } = this;
    const gtins = new Set(this.isSuspended || this.isUnknown ? [SERIES.gtin] : []);
    return Promise.resolve({ knownAt, changedAt, gtins, of: () => [] });
  }
  judge(_: object, { knownAt }: InForce): Promise<SuspensionFinding> {
    this.judged += 1;
    const series = this.isSuspended ? [{ ...SERIES, suspensions: this.suspensions }] : [];
    const unknown = this.isUnknown ? UNKNOWN : {};
    return Promise.resolve({ series, packCount: series.length, ...unknown, knownAt: String(knownAt) });
  }
  suspend(): void {
    this.isSuspended = true;
    this.changedAt = this.head += 1n;
  }
}

const clock = new VirtualClock(new Date());

function worker(stop: FakeStop, breaker = new Breaker(undefined), registry = new FakeRegistry(['ok', 'ok', 'ok'])) {
  const store = breaker.around(stores.store, ['append']);
  return { registry, context: { ...processOn({ ...stores, store, registry, clock }), stop } satisfies TaskContext };
}

async function document(more: object = {}) {
  const { requestId } = await registerDocument(stores, undefined, { docType: 415, ...more });
  const [send] = await plannedTasks(stores.store, requestId);
  return { requestId, send: asTask(send!) };
}
const typesOf = async (requestId: string) => (await eventsOf(stores.store, requestId)).map((event) => event.type);
const sends = (...registries: FakeRegistry[]) =>
  registries.flatMap(({ calls }) => calls.filter((call) => call === 'sendDocument')).length;

/** A person lets a held document go. */
async function override(requestId: string) {
  const held = (await eventsOf(stores.store, requestId)).findLast(({ type }) => type === 'DocumentHeld');
  const { knownAt } = (held as unknown as { data: { hold: { knownAt: string } } }).data.hold;
  const decision: PlannedTask<'decide_hold'> = {
    key: `decide_hold:${requestId}`,
    kind: 'decide_hold',
    lane: 'internal',
    dueAt: new Date(0),
    payload: {
      ...{ requestId, decision: 'release', predecessors: [`suspension@${knownAt}`], reason: 'by letter 7' },
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'api-key' },
    },
  };
  return asTask(decision);
}

describe('a document of suspended packs', () => {
  it('is held, once, without a signature; a type that passes is sent, and nobody asks', async () => {
    const stop = new FakeStop();
    const { registry, context } = worker(stop);
    const one = await document();
    expect(await runTask(context, one.send)).toEqual({ kind: 'done' });
    expect(await runTask(context, { ...one.send, lease: '1:2' })).toEqual({ kind: 'done' });
    expect(await typesOf(one.requestId)).toEqual(['DocumentRegistered', 'DocumentHeld']);
    expect(registry.calls).toEqual([]);
    const judged = stop.judged;
    const passing = await document({ docType: 417 });
    await runTask(context, passing.send);
    expect((await typesOf(passing.requestId)).at(-1)).toBe('DocumentSent');
    expect(stop.judged).toBe(judged);
  });

  it('goes by itself when the suspension ends, by a send of its own, which says what was known', async () => {
    const stop = new FakeStop();
    const { registry, context } = worker(stop);
    const { requestId, send } = await document();
    await runTask(context, send);
    const rejudge = await newestTask(stores.store, requestId, 'rejudge_suspension');
    // Another process finds the same, though it has the hold from the log: nothing is told twice.
    for (const one of [context, worker(stop).context])
      expect(await runTask(one, rejudge)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    stop.isSuspended = false;
    expect(await runTask(context, rejudge)).toEqual({ kind: 'done' });
    const again = await newestTask(stores.store, requestId, 'send');
    expect(again.key).toBe(`send:${requestId}:1:gate-1`);
    await runTask(context, again);
    expect(await typesOf(requestId)).toEqual([
      ...['DocumentRegistered', 'DocumentHeld', 'SuspensionHoldLifted', 'DocumentReleased'],
      ...['SendAttempted', 'DocumentSent'],
    ]);
    const attempt = (await eventsOf(stores.store, requestId)).find(({ type }) => type === 'SendAttempted');
    expect(attempt?.data).toMatchObject({ suspensionsKnownAt: String(stop.head) });
    expect(sends(registry)).toBe(1);
    expect(await runTask(context, { ...rejudge, lease: '1:9' })).toEqual({ kind: 'done' });
  });

  it('goes when a person overrides it, and is not held for that again', async () => {
    const stop = new FakeStop();
    const { context, registry } = worker(stop);
    const { requestId, send } = await document();
    await runTask(context, send);
    await runTask(context, await override(requestId));
    await runTask(context, await newestTask(stores.store, requestId, 'send'));
    expect((await typesOf(requestId)).slice(-2)).toEqual(['SendAttempted', 'DocumentSent']);
    expect(sends(registry)).toBe(1);
  });

  it('is held where it is suspended while it is signed: only the intent comes after the last question', async () => {
    const stop = new FakeStop();
    stop.isSuspended = false;
    stop.before = (question) => {
      if (question === 2) stop.suspend();
    };
    const { context, registry } = worker(stop);
    const { requestId, send } = await document();
    await runTask(context, send);
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'DocumentHeld']);
    expect(sends(registry)).toBe(0);
  });

  it('is held where it is suspended after an attempt that did not arrive', async () => {
    const stop = new FakeStop();
    stop.isSuspended = false;
    const { context, registry } = worker(stop, undefined, new FakeRegistry(['not_sent', 'ok']));
    const { requestId, send } = await document();
    await runTask(context, send);
    stop.suspend();
    await runTask(context, await newestTask(stores.store, requestId, 'send'));
    expect(await typesOf(requestId)).toEqual([
      ...['DocumentRegistered', 'SendAttempted', 'SendNotDelivered', 'DocumentHeld'],
    ]);
    stop.isSuspended = false;
    await runTask(context, await newestTask(stores.store, requestId, 'rejudge_suspension'));
    const again = await newestTask(stores.store, requestId, 'send');
    expect(again.key).toBe(`send:${requestId}:2:gate-1`);
    await runTask(context, again);
    expect((await typesOf(requestId)).slice(-2)).toEqual(['SendAttempted', 'DocumentSent']);
    expect(sends(registry)).toBe(2);
  });

  it('whose series nobody knows goes with a warning, or is held, as the profile says', async () => {
    const stop = new FakeStop();
    Object.assign(stop, { isSuspended: false, isUnknown: true });
    const { context } = worker(stop);
    const passing = await document();
    await runTask(context, passing.send);
    expect((await typesOf(passing.requestId)).slice(1)).toEqual(['SuspensionWarned', 'SendAttempted', 'DocumentSent']);
    stop.unknownSeries = 'hold';
    const one = await document();
    await runTask(context, one.send);
    expect(await typesOf(one.requestId)).toEqual(['DocumentRegistered', 'DocumentHeld']);
    // Of one that is held for what is suspended, what is unknown keeps nothing where it passes.
    stop.unknownSeries = 'pass';
    stop.isSuspended = true;
    const both = await document();
    await runTask(context, both.send);
    stop.isSuspended = false;
    await runTask(context, await newestTask(stores.store, both.requestId, 'rejudge_suspension'));
    expect((await typesOf(both.requestId)).at(-1)).toBe('DocumentReleased');
  });

  it('is held as a member of a group when its turn has come', async () => {
    const stop = new FakeStop();
    const { context, registry } = worker(stop);
    const { group, command } = await acceptGroup(stores, 2, { docType: 415 });
    await runTask(context, command);
    const [member] = group.members;
    const [send] = (await plannedTasks(stores.store, group)).filter(({ kind }) => kind === 'send');
    await runTask(context, asTask(send!));
    expect(await typesOf(member?.requestId as string)).toEqual(['DocumentRegistered', 'DocumentHeld']);
    expect(sends(registry)).toBe(0);
  });
});

describe('the start of a group', () => {
  const planned = async (group: GroupRegistration, kind: TaskKind, id: string) =>
    asTask(
      (await plannedTasks(stores.store, group)).findLast(
        (one) => one.kind === kind && one.key.includes(id),
      ) as PlannedTask,
    );

  /** Two documents that the registry has, and that it would begin with. */
  async function toStart(stop: FakeStop, isOverridden = false) {
    const { context, registry } = worker(stop);
    const bulk = new FakeGroups(registry);
    const on = { ...context, bulk };
    const { group, command } = await acceptGroup(stores, 2, { docType: 415 });
    const run = async (kind: TaskKind, id = group.groupId) => runTask(on, await planned(group, kind, id));
    await runTask(on, command);
    for (const { requestId } of group.members) {
      await run('send', requestId);
      if (isOverridden) await runTask(on, await override(requestId));
      if (isOverridden) await run('send', requestId);
      await run('note_member', requestId);
    }
    await run('group_check');
    return { group, bulk, run };
  }
  const haltOf = async ({ groupId }: GroupRegistration): Promise<unknown> => {
    const state = await groupStateIn(stores.store, groupId);
    return 'halt' in state ? state.halt : state.phase;
  };

  it('is not made where packs were suspended after its documents were sent: it halts, and says why', async () => {
    const stop = new FakeStop();
    stop.isSuspended = false;
    const { group, bulk, run } = await toStart(stop);
    stop.suspend();
    for (let runs = 0; runs < 2; runs += 1) expect(await run('group_start')).toEqual({ kind: 'done' });
    const [first] = group.members;
    expect(await haltOf(group)).toEqual({
      ...{ cause: 'packs_suspended', started: false },
      text: `packs of ${first?.commandId} are suspended: series A of ${SERIES.gtin}`,
      rest: group.members.map(({ requestId }) => requestId),
    });
    await run('conclude_members');
    for (const { requestId } of group.members)
      expect(await stateIn(stores.store, requestId)).toMatchObject({ outcome: 'failed', cause: 'not_processed' });
    expect(bulk.starts).toBe(0);
  });

  it('is not made where packs were suspended while its documents were judged', async () => {
    const stop = new FakeStop();
    stop.isSuspended = false;
    const { group, bulk, run } = await toStart(stop);
    // Others are suspended, so that all is judged; then packs of the first, when the last has its turn.
    stop.isUnknown = true;
    const judge = stop.judge.bind(stop);
    let turns = 0;
    stop.judge = async (...given) => {
      const finding = await judge(...given);
      if ((turns += 1) === 2) stop.suspend();
      return finding;
    };
    expect(await run('group_start')).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect([await haltOf(group), bulk.starts]).toEqual(['startable', 0]);
    await run('group_start');
    expect([await haltOf(group), bulk.starts]).toMatchObject([{ cause: 'packs_suspended' }, 0]);
  });

  it('is made in spite of a suspension that a person overrode for its documents', async () => {
    const { group, bulk, run } = await toStart(new FakeStop(), true);
    await run('group_start');
    expect([await haltOf(group), bulk.starts]).toEqual(['started', 1]);
  });

  it('is not made where another suspension came after the one that a person overrode', async () => {
    const stop = new FakeStop();
    const { group, bulk, run } = await toStart(stop, true);
    stop.suspensions = ['s-1', 's-2'];
    await run('group_start');
    expect(await haltOf(group)).toMatchObject({ cause: 'packs_suspended' });
    expect(bulk.starts).toBe(0);
  });

  it.each([
    ['pass', 'started', 1],
    ['hold', 'halted', 0],
  ] as const)('of packs whose series nobody knows goes as the profile says: %s', async (policy, phase, starts) => {
    const stop = new FakeStop();
    stop.isSuspended = false;
    const { group, bulk, run } = await toStart(stop);
    Object.assign(stop, { isUnknown: true, unknownSeries: policy });
    await run('group_start');
    expect([(await groupStateIn(stores.store, group.groupId)).phase, bulk.starts]).toEqual([phase, starts]);
  });
});

describe('a crash at the stop', () => {
  const STEPS = ['append DocumentHeld', 'append SuspensionWarned', 'append SendAttempted'];
  const cases = STEPS.flatMap((call) => (['before', 'after'] as Fault[]).map((fault) => [call, fault] as const));

  it.each(cases)('at %s, %s it: the next worker goes on from there', async (call, fault) => {
    const stop = new FakeStop();
    const isHeld = call === 'append DocumentHeld';
    Object.assign(stop, { isSuspended: isHeld, isUnknown: !isHeld });
    const breaker = new Breaker({ at: { call }, fault, dies: true });
    const first = worker(stop, breaker);
    const { requestId, send } = await document();
    await runTask(first.context, send).catch((error: unknown) => {
      if (!isBreakers(error as Error)) throw error;
    });
    expect(breaker.struck).toBe(true);
    const second = worker(stop);
    await runTask(second.context, { ...send, lease: '1:2', attempts: 2, leaseExpiredBefore: true });
    const types = await typesOf(requestId);
    expect(types.filter((one) => one === 'DocumentHeld')).toHaveLength(isHeld ? 1 : 0);
    expect(types.filter((one) => one === 'SuspensionWarned')).toHaveLength(isHeld ? 0 : 1);
    expect(types.filter((one) => one === 'SendAttempted')).toHaveLength(isHeld ? 0 : 1);
    expect(sends(first.registry)).toBe(0);
  });
});

describe('two workers with one send', () => {
  it('hold it or send it, and never both, whichever suspensions each has seen', async () => {
    const [stops, passes] = [new FakeStop(), new FakeStop()];
    passes.isSuspended = false;
    for (let trial = 0; trial < 20; trial += 1) {
      const [a, b] = [worker(stops), worker(passes)];
      const { requestId, send } = await document();
      await Promise.all([a, b].map(({ context }) => context.documents.state(requestId)));
      const runs = [() => runTask(a.context, send), () => runTask(b.context, { ...send, lease: '1:2' })];
      await Promise.all((trial % 2 === 0 ? runs : runs.reverse()).map((run) => run()));
      const types = await typesOf(requestId);
      expect(types.includes('DocumentHeld')).not.toBe(types.includes('SendAttempted'));
      expect(sends(a.registry, b.registry)).toBe(types.includes('DocumentHeld') ? 0 : 1);
    }
  });
});
