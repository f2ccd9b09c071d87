// Left to the soak: a death before and after each call of a group. `npm test` has crash-points.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import type { GroupCommand, GroupEvent, GroupRegistration } from '#domain';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { Breaker, isBreakers, type Fault, type Place } from '../../test/breaker.js';
import { FakeGroups, type StartFate } from '../../test/fake-groups.js';
import { FakeRegistry, type SendFate } from '../../test/fake-registry.js';
import {
  acceptGroup,
  groupEventsOf,
  groupStateIn,
  processOn,
  runTask,
  stateIn,
  storesForSpec,
  workOff,
} from '../../test/test-harness.js';
import type { TaskContext } from './context.js';

const FAULTS: Fault[] = ['before', 'after'];
/** Trials at the same time: they share the database and nothing else. */
const TOGETHER = 16;
const WATCHED = {
  store: ['append', 'readStream'],
  evidence: ['put', 'get'],
  registry: ['sign', 'sendDocument', 'findByRequestId', 'documentStatus', 'receipt', 'downloadDocument'],
  bulk: ['check', 'start'],
};

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

interface Death {
  at: Place;
  fault: Fault;
}

interface Case {
  sends?: SendFate[];
  starts?: StartFate[];
  /** What members show that wait for the start of their group. */
  waitingStatus?: FakeRegistry['waitingStatus'];
  /** Where the first process dies; a new one, which remembers nothing, takes its tasks over. */
  death?: Death;
  members?: number;
}

interface Ending {
  /** Times that the group began at the registry. */
  begun: number;
  /** Documents that the registry took, in the order in which they came, as places in the group. */
  taken: number[];
  group: string;
  members: string[];
  /** Sends that the registry heard of. */
  sends: number;
  /** Starts that were meant, by the log. */
  intents: number;
  /** Whether the first member's status told that the group had begun. */
  seenByStatus: boolean | undefined;
  /** Starts that were made although an earlier one might still have begun the group. */
  unproven: string[];
  /** The calls of the process that was struck, or of the one that lived through it all. */
  calls: string[];
  struck: boolean;
}

/** What every life must come to, whatever struck it. */
const good = (members: number) => ({
  begun: 1,
  group: 'accepted',
  unproven: [],
  taken: Array.from({ length: members }, (_, index) => index),
  members: Array.from({ length: members }, () => 'accepted'),
  sends: members,
});

const isGood = (ending: Ending): boolean => {
  const { begun, group, unproven, taken, members, sends } = ending;
  return isDeepStrictEqual({ begun, group, unproven, taken, members, sends }, good(members.length));
};

/** Lives through one group's whole life, from its command to its end, with one fault in it. */
async function live({ sends = [], starts = [], waitingStatus, death, members = 3 }: Case): Promise<Ending> {
  const clock = new VirtualClock(new Date());
  const registry = new FakeRegistry(sends);
  registry.waitingStatus = waitingStatus ?? 'uploading';
  const bulk = new FakeGroups(registry, starts);
  const { group, command } = await acceptGroup(stores, members);
  const unproven: string[] = [];
  bulk.beforeStart = async () => {
    const complaint = await whyNotToStart(group, { registry, bulk });
    if (complaint !== undefined) unproven.push(complaint);
  };
  const breaker = new Breaker(death === undefined ? undefined : { ...death, dies: true });
  const parts = {
    store: breaker.around(stores.store, WATCHED.store),
    evidence: breaker.around(stores.evidence, WATCHED.evidence),
    registry: breaker.around(registry, WATCHED.registry),
    bulk: breaker.around(bulk, WATCHED.bulk),
  };
  let current: TaskContext = processOn({ ...parts, uploadLinks: stores.uploadLinks, clock });
  const thrown = (error: Error): void => {
    if (!isBreakers(error)) throw error;
    current = processOn({ ...stores, registry, bulk, clock });
  };
  // The command is given again until its task is done, as its lease would have it.
  for (let runs = 0; runs < 2; runs += 1) {
    const result = await runTask(current, command).catch(thrown);
    if (result !== undefined) break;
  }
  expect(await workOff({ context: () => current, thrown, clock, store: stores.store }, group)).toEqual([]);
  return endingOf(group, { registry, bulk, breaker, unproven });
}

async function endingOf(
  group: GroupRegistration,
  of: { registry: FakeRegistry; bulk: FakeGroups; breaker: Breaker; unproven: string[] },
): Promise<Ending> {
  const { registry, bulk, breaker, unproven } = of;
  const ids = group.members.map((one) => one.requestId);
  const states = await Promise.all(ids.map((requestId) => stateIn(stores.store, requestId)));
  const events = await groupEventsOf(stores.store, group.groupId);
  const state = await groupStateIn(stores.store, group.groupId);
  return {
    begun: bulk.started.length,
    taken: [...registry.taken].flatMap(([requestId, documentIds]) => documentIds.map(() => ids.indexOf(requestId))),
    group: state.phase === 'concluded' ? state.outcome : state.phase,
    members: states.map((one) => (one.phase === 'concluded' ? one.outcome : one.phase)),
    sends: registry.calls.filter((call) => call === 'sendDocument').length,
    intents: events.filter((event) => event.type === 'GroupStartAttempted').length,
    seenByStatus: events.find(
      (event): event is Extract<GroupEvent, { type: 'GroupStarted' }> => event.type === 'GroupStarted',
    )?.data.seenByStatus,
    unproven,
    calls: breaker.names,
    struck: breaker.struck,
  };
}

/** A life may read once less than the one whose calls were counted, and end before its death. So many do, at most. */
const MOST_BEFORE_DEATH = 4;

/** The lives, one with each of these deaths in it, that did not end as every life must. */
async function badEndings(of: Case, deaths: Death[]): Promise<object[]> {
  const bad: object[] = [];
  let beforeDeath = 0;
  for (let from = 0; from < deaths.length; from += TOGETHER) {
    const endings = await Promise.all(
      deaths.slice(from, from + TOGETHER).map(async (death) => ({ death, ending: await live({ ...of, death }) })),
    );
    bad.push(...endings.filter(({ death, ending }) => !isGood(ending) || (!ending.struck && !isOver(ending, death))));
    beforeDeath += endings.filter(({ ending }) => !ending.struck).length;
  }
  expect(beforeDeath).toBeLessThanOrEqual(MOST_BEFORE_DEATH);
  return bad;
}

function isOver({ calls }: Ending, { at }: Death): boolean {
  return typeof at === 'number' && calls.length < at;
}

/**
 * A start is right when its intent is the newest event, is its own, every earlier one is proven not to have begun the
 * group, and all members are there.
 */
async function whyNotToStart(
  { groupId, members }: GroupRegistration,
  { registry, bulk }: { registry: FakeRegistry; bulk: FakeGroups },
): Promise<string | undefined> {
  if (bulk.started.length > 0) return 'it has begun already';
  if (members.some(({ requestId }) => !registry.taken.has(requestId))) return 'a member is missing';
  const events = await groupEventsOf(stores.store, groupId);
  const intents = events.filter((event) => event.type === 'GroupStartAttempted');
  if (events.at(-1)?.type !== 'GroupStartAttempted') return `the newest event is ${events.at(-1)?.type}`;
  if (intents.length <= bulk.starts) return 'this start was made before';
  const open = intents
    .slice(0, -1)
    .find(
      ({ data }) =>
        !events.some(
          (event) =>
            (event.type === 'GroupStartNotDelivered' || event.type === 'GroupStartAbsenceProven') &&
            event.data.attempt === data.attempt,
        ),
    );
  return open === undefined ? undefined : `start ${open.data.attempt} may still begin it`;
}

describe('a group’s life', () => {
  /**
   * What struck, where, and how the start then went: the intents in the log, and whether the members' statuses told
   * that it had begun.
   */
  const deaths: [string, Death, Pick<Ending, 'intents' | 'seenByStatus'>][] = [
    ['before the first send', { at: { call: 'sendDocument' }, fault: 'before' }, { intents: 1, seenByStatus: false }],
    [
      'between the sends of two members, the group not told of the first',
      { at: { call: 'append MemberSent' }, fault: 'before' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'between the sends of two members, the group told of the first',
      { at: { call: 'append MemberSent' }, fault: 'after' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'between intent and send of the second member',
      { at: { call: 'sendDocument', nth: 2 }, fault: 'before' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'as the second member was taken and its answer not recorded',
      { at: { call: 'sendDocument', nth: 2 }, fault: 'after' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'as the check was answered, before that is recorded',
      { at: { call: 'check' }, fault: 'after' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'as the passed check was recorded, before its task is done',
      { at: { call: 'append GroupCheckPassed' }, fault: 'after' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'before the intent of the start is recorded',
      { at: { call: 'append GroupStartAttempted' }, fault: 'before' },
      { intents: 1, seenByStatus: false },
    ],
    [
      'as the intent of the start was recorded',
      { at: { call: 'append GroupStartAttempted' }, fault: 'after' },
      { intents: 2, seenByStatus: false },
    ],
    [
      'between the intent and the start',
      { at: { call: 'start' }, fault: 'before' },
      { intents: 2, seenByStatus: false },
    ],
    [
      'as the group was started, before the answer is recorded',
      { at: { call: 'start' }, fault: 'after' },
      { intents: 1, seenByStatus: true },
    ],
    [
      'as the answer of the start was not recorded',
      { at: { call: 'append GroupStarted' }, fault: 'before' },
      { intents: 1, seenByStatus: true },
    ],
    [
      'as the answer of the start was recorded, before its task is done',
      { at: { call: 'append GroupStarted' }, fault: 'after' },
      { intents: 1, seenByStatus: false },
    ],
  ];

  it.each(deaths)(
    'whose process dies %s: each member is sent once, the group started once, all concluded',
    async (_name, death, start) => {
      expect(await live({ death })).toMatchObject({ ...good(3), ...start, struck: true });
    },
  );

  const answers: [string, Pick<Case, 'sends' | 'starts' | 'waitingStatus'>, Partial<Ending>][] = [
    [
      'the answer of the start is lost, and the group has begun',
      { starts: ['unknown_taken'] },
      { intents: 1, seenByStatus: true },
    ],
    [
      'the answer of the start is lost, and the group begins after the first look',
      { starts: ['unknown_late'] },
      { intents: 1, seenByStatus: true },
    ],
    ['the start is lost', { starts: ['unknown_lost'] }, { intents: 2, seenByStatus: false }],
    [
      'the start is lost, its documents show as in work, and a check says no',
      { starts: ['unknown_denied'], waitingStatus: 'processing' },
      { intents: 2, seenByStatus: false },
    ],
    [
      'the start is lost, and then the answer of the second',
      { starts: ['unknown_lost', 'unknown_taken'] },
      { intents: 2, seenByStatus: true },
    ],
    [
      'the start comes too early, and then finds no connection',
      { starts: ['rate_limited', 'not_sent'] },
      { intents: 3, seenByStatus: false },
    ],
    [
      'one member is lost, and of another the answer',
      { sends: ['unknown_lost', 'ok', 'unknown_taken'] },
      { intents: 1, sends: 4 },
    ],
    ['a member lands after the first look-up', { sends: ['ok', 'unknown_late'] }, { intents: 1 }],
  ];

  it.each(answers)(
    'in which %s: each member is there once and the group started once, all concluded',
    async (_name, fates, ending) => {
      expect(await live(fates)).toMatchObject({ ...good(3), ...ending });
    },
  );

  it('whose process dies at any one call: started again only with proof, and concluded', async () => {
    const { calls } = await live({ members: 2 });
    expect(calls.length).toBeGreaterThan(40);
    const places = calls.map((_, n) => n + 1);
    expect(
      await badEndings(
        { members: 2 },
        places.flatMap((at) => FAULTS.map((fault) => ({ at, fault }))),
      ),
    ).toEqual([]);
  });

  const doubts: [string, StartFate][] = [
    ['is lost', 'unknown_lost'],
    ['lands after the first look', 'unknown_late'],
  ];

  it.each(doubts)(
    'in which the start %s, and the process dies at any call from its intent to its end: started again only with ' +
      'proof, and concluded',
    async (_name, fate) => {
      const of = { starts: [fate], members: 2 };
      const { calls } = await live(of);
      const places = calls
        .map((_, n) => n + 1)
        .slice(calls.indexOf('append GroupStartAttempted'), calls.indexOf('append GroupStarted') + 1);
      expect(places.length).toBeGreaterThan(5);
      expect(
        await badEndings(
          of,
          places.flatMap((at) => FAULTS.map((fault) => ({ at, fault }))),
        ),
      ).toEqual([]);
    },
  );

  it('is watched: a start without proof would be seen', async () => {
    const registry = new FakeRegistry();
    const bulk = new FakeGroups(registry);
    const { group, command } = await acceptGroup(stores, 1);
    expect(await whyNotToStart(group, { registry, bulk })).toBe('a member is missing');
    const context = processOn({ ...stores, registry, bulk, clock: new VirtualClock(new Date()) });
    await runTask(context, command);
    registry.take(group.members[0]?.requestId as string);
    expect(await whyNotToStart(group, { registry, bulk })).toMatch(/newest event is GroupRegistered/);
    const by = {
      taskKey: 'by-hand',
      lease: '1:1',
      actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
    } as const;
    const tell = (...commands: GroupCommand[]) =>
      commands.reduce<Promise<unknown>>(
        (before, one, n) =>
          before.then(() =>
            context.groups.execute(group.groupId, one, { ...by, taskKey: `by-hand-${bulk.starts}-${n}` }),
          ),
        Promise.resolve(),
      );
    const answerSha256 = 'a'.repeat(64);
    await tell(
      { type: 'NoteMemberSent', requestId: group.members[0]?.requestId as string, documentId: 'd' },
      { type: 'RecordCheck', answer: { canStart: true }, answerSha256 },
      { type: 'BeginStart' },
    );
    expect(await whyNotToStart(group, { registry, bulk })).toBeUndefined();
    bulk.starts += 1;
    expect(await whyNotToStart(group, { registry, bulk })).toBe('this start was made before');
    await bulk.start('main', [group.members[0]?.requestId as string]);
    expect(await whyNotToStart(group, { registry, bulk })).toBe('it has begun already');
  });
});
