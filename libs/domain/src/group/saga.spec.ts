import { describe, expect, it } from '@jest/globals';
import { documentStream, type DocumentEvent } from '../document/events.js';
import {
  attempted,
  concludedFailed,
  DOCUMENT_ID,
  registration as documentRegistration,
  sent,
} from '../../test/given-document.js';
import type { DocumentRules, PlannedGroupTask, PlannedTask } from '../document/planned-task.js';
import type { DocumentSagaState } from '../document/saga-state.js';
import { DOCUMENT_SAGA, keysOfDocumentEvent, reactToDocumentEvent } from '../saga/document-saga.js';
import type { GroupCommand } from './decide.js';
import { groupStream, type GroupEvent, type HaltCause } from './events.js';
import { outcomeForDependents } from './state.js';
import {
  allSent,
  answered,
  begin,
  begun,
  ended,
  endedBy,
  eventsOf,
  groupRegistration,
  looked,
  mayNot,
  mayStart,
  memberSent,
  registered,
  started,
} from '../../test/given-group.js';

const RULES: DocumentRules = {
  statusAfterSendMs: 3_000,
  receiptAfterStatusMs: 5_000,
  statusPollMs: 2_000,
  failedGraceMs: 7_000,
  unknownGraceMs: 60_000,
  statusGridMs: 1_000,
  lookUpEveryMs: 2_000,
};
const START_MS = Date.parse('2026-03-01T10:00:00.000Z');
const at = (i: number, plusMs = 0) => new Date(START_MS + i * 1_000 + plusMs);
const react = reactToDocumentEvent(RULES);
const recorded = (event: GroupEvent | DocumentEvent, i: number, stream = groupStream('g-1')) => ({
  ...event,
  stream,
  version: i,
  handledAt: at(i),
});

interface Followed {
  state: DocumentSagaState;
  tasks: (PlannedTask | PlannedGroupTask)[];
  /** When the last event was recorded, in seconds. */
  last: number;
}

/** What follows from the last event of these commands, the events a second apart. */
function after(commands: GroupCommand[], upTo: GroupEvent['type'] | undefined = undefined): Followed {
  const all = eventsOf(commands);
  const events = upTo === undefined ? all : all.slice(0, all.findLastIndex((event) => event.type === upTo) + 1);
  const start: Followed = { state: DOCUMENT_SAGA.initial, tasks: [], last: 0 };
  return events.reduce<Followed>(
    ({ state }, event, i) => ({ ...react(state, recorded(event, i), 'g-1'), last: i }),
    start,
  );
}

describe('what follows from an event of a group', () => {
  it('each member is sent when its turn comes, under the key of its own first send', () => {
    expect(after([registered]).tasks).toEqual([
      {
        key: 'send:m-0:1',
        kind: 'send',
        lane: 'main/send',
        dueAt: at(0),
        payload: { requestId: 'm-0', account: 'main', attempt: 1 },
      },
    ]);
    expect(after([registered, memberSent(0)]).tasks).toMatchObject([{ key: 'send:m-1:1' }]);
    const waiting: GroupCommand = {
      type: 'Register',
      registration: groupRegistration([{ commandId: 'c-1', requestId: 'r-1' }]),
    };
    expect(after([waiting]).tasks).toEqual([]);
    expect(after([waiting, { type: 'NotePredecessor', requestId: 'r-1', outcome: 'accepted' }]).tasks).toMatchObject([
      { key: 'send:m-0:1' },
    ]);
  });

  it('it is checked after the last, again after a no, and started after a yes', () => {
    expect(after(allSent).tasks).toMatchObject([{ key: 'group_check:g-1:1', lane: 'main/group_check', dueAt: at(3) }]);
    expect(after([...allSent, mayNot]).tasks).toMatchObject([{ key: 'group_check:g-1:2', dueAt: at(4, 2_000) }]);
    expect(after([...allSent, mayStart]).tasks).toMatchObject([
      { key: 'group_start:g-1:1', lane: 'main/group_start', payload: { attempt: 1 } },
    ]);
    expect(after([...allSent, mayStart, begin, answered('not_delivered')]).tasks).toMatchObject([
      { key: 'group_start:g-1:2', dueAt: at(6, 400) },
    ]);
  });

  it('a no is believed after minutes, for the registry may still be taking documents of the group in', () => {
    const waits = [1, 2, 3, 4].map((noes) => {
      const { tasks, last } = after([...allSent, ...Array.from({ length: noes }, () => mayNot)]);
      return (tasks[0]?.dueAt.getTime() ?? NaN) - at(last).getTime();
    });
    expect(waits).toEqual([2_000, 8_000, 32_000, 128_000]);
  });

  it('no check is planned after the no that is believed', () => {
    const five = Array.from({ length: 5 }, () => mayNot);
    expect(after([...allSent, ...five], 'GroupCheckDenied').tasks).toEqual([]);
    const again = [...allSent, mayStart, begin, answered('unconfirmed'), looked(false, 3_000), looked(false, 60_000)];
    expect(after([...again, ...five], 'GroupCheckDenied').tasks).toEqual([]);
    expect(after([...again, ...five]).tasks).toMatchObject([{ kind: 'group_look' }]);
  });

  it(
    'an unknown start is looked at no sooner than a status may be read, the second time after the grace, and ' +
      'checked anew',
    () => {
      const unknown = [...allSent, mayStart, begin, answered('unconfirmed')];
      expect(after(unknown).tasks).toMatchObject([
        {
          key: 'group_look:g-1:1',
          kind: 'group_look',
          dueAt: at(6, 3_000),
          payload: { attempt: 1, attemptEndedAt: at(6).toISOString() },
        },
      ]);
      expect(after([...unknown, looked(false, 3_000)]).tasks).toMatchObject([
        { key: 'group_look:g-1:2', dueAt: at(6, 60_000) },
      ]);
      const proven = [...unknown, looked(false, 3_000), looked(false, 60_000)];
      expect(after(proven).tasks).toMatchObject([{ key: 'group_check:g-1:2' }]);
      expect(after([...proven, mayStart]).tasks).toMatchObject([{ key: 'group_start:g-1:2', payload: { attempt: 2 } }]);
    },
  );

  it('the members’ statuses are read from the start on, no sooner than 3 s after it', () => {
    const { tasks, last } = after(started);
    expect(tasks.map((task) => [task.key, task.dueAt])).toEqual(
      [0, 1, 2].map((i) => [`status:m-${i}:started`, at(last, 3_000)]),
    );
  });

  it(
    'behind a member that failed the rest is settled after a bare FAILED had its time; without a start it is ended ' +
      'as soon as the status of the last one sent may be asked for',
    () => {
      const halted = [...started, ended(1, 'rejected')];
      expect(after(halted).tasks).toMatchObject([
        {
          key: `settle_group:g-1:${after(halted).last}`,
          kind: 'settle_group',
          lane: 'main/status',
          dueAt: at(after(halted).last, 9_000),
          payload: { haltedAt: at(after(halted).last).toISOString() },
        },
      ]);
      const refused = after([registered, memberSent(0), ended(1, 'failed', { cause: 'send_refused' })]);
      expect(refused.tasks).toMatchObject([
        {
          ...{ key: `conclude_members:g-1:${refused.last}`, lane: 'main/status', dueAt: at(refused.last, 3_000) },
          payload: { haltedAt: at(refused.last).toISOString() },
        },
      ]);
      expect(
        after([...started, ended(0, 'accepted'), ended(1, 'accepted'), ended(2, 'rejected')], 'GroupHalted').tasks,
      ).toEqual([]);
    },
  );
});

it('what is still open is settled by another task where a halt that was over stands again', () => {
  const turned = [...started, ended(0, 'failed', { cause: 'registry_failed' }), ended(0, 'accepted')];
  const first = after(turned.slice(0, -1));
  const again = after([...turned, ended(1, 'failed', { cause: 'not_processed' })]);
  expect([...first.tasks, ...again.tasks].map((task) => task.key)).toEqual([
    `settle_group:g-1:${first.last}`,
    `settle_group:g-1:${again.last}`,
  ]);
  expect(again.last).toBeGreaterThan(first.last);
});

describe('a group that a person ended', () => {
  const unknown = [...allSent, mayStart, begin, answered('unconfirmed')];

  it('is looked at once a start that lands late has had its time, by a task of its own for what is in work', () => {
    for (const [end, inWork] of [
      [endedBy(1), {}],
      [endedBy(1, true), { inWork: true }],
    ] as const) {
      const { tasks, last } = after([...unknown, end]);
      const key = `conclude_members:g-1:${last}`;
      const payload = { groupId: 'g-1', account: 'main', haltedAt: at(last).toISOString(), ...inWork };
      expect(tasks).toEqual([{ key, kind: 'conclude_members', lane: 'main/status', dueAt: at(last, 60_000), payload }]);
    }
  });

  it('is followed like one that was started, once the registry shows that it has begun', () => {
    expect(after([...unknown, endedBy(1), begun]).tasks.map(({ key }) => key)).toEqual([
      'status:m-0:started',
      'status:m-1:started',
      'status:m-2:started',
    ]);
  });
});

describe('groups and documents that wait for each other', () => {
  const group = groupRegistration([{ commandId: 'c-9', requestId: 'r-9' }]);

  it('a group is told of the document that it comes after', () => {
    const event = recorded({ type: 'GroupRegistered', data: group }, 0);
    expect(keysOfDocumentEvent(event)).toEqual(['g-1', 'r-9']);
    expect(react(DOCUMENT_SAGA.initial, event, 'r-9')).toMatchObject({
      tasks: [
        {
          key: 'note_predecessor:g-1:r-9',
          kind: 'note_group_predecessor',
          lane: 'internal',
          payload: { groupId: 'g-1', predecessor: 'r-9', finalOnly: true },
        },
      ],
      dependents: [{ dependent: 'g-1', data: { account: 'main', kind: 'group' } }],
    });
  });

  it('who waits for a group is told when it concludes; when a member failed without a receipt, after the grace', () => {
    const resumption = react(
      DOCUMENT_SAGA.initial,
      recorded(
        {
          type: 'GroupRegistered',
          data: { ...groupRegistration(), kind: 'resumption', resumes: { groupId: 'g-0', commandId: 'G-0' } },
        },
        0,
      ),
      'g-1',
    ).state;
    // Nobody may wait for it: those who wait for the group that it resumes are found by the task.
    expect(
      react(resumption, recorded({ type: 'GroupConcluded', data: { outcome: 'accepted' } }, 1), 'g-1').tasks,
    ).toMatchObject([{ key: 'release_dependents:g-1:1' }]);
    const over = (halt?: HaltCause) =>
      recorded({ type: 'GroupConcluded', data: { outcome: 'partial', ...(halt === undefined ? {} : { halt }) } }, 1);
    const patient = reactToDocumentEvent({ ...RULES, failedGraceMs: 60_000 });
    for (const halt of [
      undefined,
      'member_rejected',
      'member_partial',
      'member_not_sent',
      'predecessor_failed',
      'check_denied',
      'start_refused',
    ] as const) {
      const { state, tasksForDependents } = patient(DOCUMENT_SAGA.initial, over(halt), 'g-1');
      expect(tasksForDependents).toMatchObject([
        { key: 'release_dependents:g-1:1', kind: 'release_dependents', dueAt: at(1) },
      ]);
      expect(DOCUMENT_SAGA.isDone(state)).toBe(true);
    }
    const mayTurn = patient(DOCUMENT_SAGA.initial, over('member_failed'), 'g-1');
    expect(mayTurn.tasksForDependents).toMatchObject([{ dueAt: at(1, 60_000) }]);
    expect(DOCUMENT_SAGA.isDone(mayTurn.state)).toBe(false);
  });

  it('a group that halted has not succeeded, unless every member was accepted in the end', () => {
    expect(outcomeForDependents({ outcome: 'partial', halt: 'member_failed' })).toBe('failed');
    expect(outcomeForDependents({ outcome: 'accepted', halt: 'member_failed' })).toBe('accepted');
  });
});

describe('a document in a group', () => {
  const member: DocumentEvent = {
    type: 'DocumentRegistered',
    data: { ...documentRegistration(), group: { groupId: 'g-1', index: 0, of: 3, kind: 'given' } },
  };
  const follow = (events: DocumentEvent[]) =>
    events.reduce<{ state: DocumentSagaState; tasks: (PlannedTask | PlannedGroupTask)[] }>(
      ({ state }, event, i) => react(state, recorded(event, i, documentStream('r-9')), 'r-9'),
      { state: DOCUMENT_SAGA.initial, tasks: [] },
    );

  it('is not sent by its own registration, and its status is not read after its send', () => {
    expect(follow([member]).tasks).toEqual([]);
    expect(follow([member, attempted(1), sent()]).tasks).toEqual([
      {
        key: 'note_member:g-1:r-9:sent',
        kind: 'note_member',
        lane: 'internal',
        dueAt: new Date(0),
        payload: { groupId: 'g-1', account: 'main', requestId: 'r-9', documentId: DOCUMENT_ID },
      },
    ]);
  });

  it('tells its group how it ended', () => {
    expect(follow([member, attempted(1), sent(), concludedFailed]).tasks).toMatchObject([
      { key: 'note_member:g-1:r-9:failed', payload: { outcome: 'failed', cause: 'registry_failed', version: 3 } },
    ]);
  });

  it('tells every revision, also back to what it was before, each with its place', () => {
    const revised = (outcome: 'accepted' | 'failed', previousOutcome: 'accepted' | 'failed'): DocumentEvent =>
      ({
        ...concludedFailed,
        type: 'ConclusionRevised',
        data: { ...concludedFailed.data, outcome, previousOutcome },
      }) as DocumentEvent;
    const over = [
      member,
      attempted(1),
      sent(),
      concludedFailed,
      revised('accepted', 'failed'),
      revised('failed', 'accepted'),
    ];
    expect(follow(over.slice(0, 5)).tasks).toMatchObject([
      { key: 'note_member:g-1:r-9:accepted@4', payload: { outcome: 'accepted', version: 4 } },
    ]);
    expect(follow(over).tasks).toMatchObject([
      { key: 'note_member:g-1:r-9:failed@5', payload: { outcome: 'failed', version: 5 } },
    ]);
  });

  it('speaks for itself to whatever comes after it by its own name, and not for its group', () => {
    const { state } = follow([member, attempted(1), sent()]);
    const after: DocumentEvent = {
      type: 'DocumentRegistered',
      data: { ...documentRegistration([{ commandId: 'c-9', requestId: 'r-9' }]), requestId: 'r-20' },
    };
    const waited = react(state, recorded(after, 3, documentStream('r-20')), 'r-9');
    expect(waited.dependents).toMatchObject([{ dependent: 'r-20' }]);
    const accepted = { ...concludedFailed, data: { ...concludedFailed.data, outcome: 'accepted' } } as DocumentEvent;
    expect(react(waited.state, recorded(accepted, 4, documentStream('r-9')), 'r-9')).toMatchObject({
      tasks: [{ kind: 'note_member' }],
      tasksForDependents: [{ key: 'release_dependents:r-9:4' }],
    });
  });
});
