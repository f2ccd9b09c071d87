import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  decideGroup,
  evolveGroup,
  groupStream,
  NO_GROUP,
  type DocumentCommand,
  type GroupCommand,
  type GroupEvent,
  type GroupState,
} from '#domain';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { Holds } from './holds.js';

let harness: TestHarness;
let store: PostgresEventStore;
let queue: PostgresTaskQueue;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  const { pool } = harness.db;
  [store, queue] = [new PostgresEventStore({ pool }), new PostgresTaskQueue({ pool })];
});
afterAll(async () => {
  await queue.close();
  await store.close();
  await harness.stop();
});

const by = (name: string, reason: string) =>
  ({ actor: { kind: 'person', name, authenticatedBy: 'test' }, reason }) as const;

it('a document that two persons hold before the worker looks is held by the first, and the second is told so', async () => {
  await harness.post({ command_id: 'held', xml: arrival() });
  const requestId = await harness.run('held', [], { projected: false });
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  const held = await holds.hold(requestId, by('anna', 'quality looks'));
  expect(held).toMatchObject({ requestId, decision: 'hold' });
  expect(await holds.hold(requestId, by('anna', 'quality looks'))).toEqual(held);
  for (const [name, reason] of [
    ['boris', 'quality looks'],
    ['anna', 'the price is wrong'],
  ] as const)
    await expect(holds.hold(requestId, by(name, reason))).rejects.toMatchObject({
      ...{ code: 'not_holdable', message: expect.stringContaining('anna holds it already: quality looks') },
    });
  const { rows } = await pool.query<{ payload: string }>(`SELECT payload FROM task WHERE kind = 'hold_document'`);
  expect(rows.map(({ payload }) => JSON.parse(payload) as object)).toEqual([
    { requestId, ...by('anna', 'quality looks'), holds: 0 },
  ]);
});

it('a document that waits for commands which never came is released, or ended, for those alone', async () => {
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  await harness.post({ command_id: 'there', xml: arrival() });
  await harness.run('there', [], { projected: false });
  const given = async (id: string, after: string[]): Promise<string> => {
    await harness.post({ command_id: id, xml: arrival(), after });
    return harness.run(id, [], { projected: false });
  };
  const waits = await given('waits', ['there', 'never', 'nor this']);
  const release = { decision: 'release' as const, ...by('anna', 'they were cancelled') };
  const decided = await holds.decide('document', waits, release);
  expect(decided).toMatchObject({ heldFor: [], missing: [{ commandId: 'never' }, { commandId: 'nor this' }] });
  const payloads = async (requestId: string) => {
    const { rows } = await pool.query<{ payload: string }>(
      `SELECT payload FROM task WHERE kind = 'decide_hold' AND key LIKE '%' || $1 || '%'`,
      [requestId],
    );
    return rows.map(({ payload }) => JSON.parse(payload) as { missing?: string[] });
  };
  // The same once more is no other decision.
  await holds.decide('document', waits, release);
  expect(await payloads(waits)).toEqual([
    expect.objectContaining({ predecessors: [], missing: decided.missing?.map((one) => one.requestId) }),
  ]);
  // One that waits for what is known here is not held, as ever.
  const known = await given('known', ['there']);
  await expect(holds.decide('document', known, release)).rejects.toMatchObject({ code: 'not_held' });
});

it('what holds it is decided about first, whoever that is, and what never came by a second decision', async () => {
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  const release = { decision: 'release' as const, ...by('anna', 'it was cancelled') };
  const person: DocumentCommand = { type: 'HoldByPerson', by: 'anna', reason: 'where is it' };
  await harness.post({ command_id: 'bad', xml: arrival() });
  const bad = await harness.run('bad', [], { projected: false });
  for (const [id, hold, hold_id] of [
    ['by person', person, 'person@1'],
    ['by a bad end', { type: 'NotePredecessor', requestId: bad, outcome: 'rejected' }, bad],
  ] as const) {
    await harness.post({ command_id: id, xml: arrival(), after: ['bad', 'never came'] });
    const requestId = await harness.run(id, [hold], { projected: false });
    expect(await holds.decide('document', requestId, release)).not.toHaveProperty('missing');
    await harness.post({ command_id: `${id}, waived`, xml: arrival(), after: ['bad', 'never came'] });
    const waive: DocumentCommand = { type: 'WaiveHolds', predecessors: [hold_id] };
    const waived = await harness.run(`${id}, waived`, [hold, waive], { projected: false });
    expect(await holds.decide('document', waived, release)).toMatchObject({ missing: [{ commandId: 'never came' }] });
  }
});

it('a command that is acknowledged and not run yet is waited for: nobody decides that it never came', async () => {
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  await harness.post({ command_id: 'not run', xml: arrival() });
  await harness.post({
    ...{ command_id: 'group not run', type: 'send_group' },
    group: { members: ['m1', 'm2'].map((command_id) => ({ command_id, xml: arrival() })) },
  });
  const given = async (id: string, after: string[]): Promise<string> => {
    expect((await harness.post({ command_id: id, xml: arrival(), after })).status).toBe(202);
    return harness.run(id, [], { projected: false });
  };
  for (const decision of ['release', 'end'] as const) {
    const asked = { decision, ...by('anna', 'it was cancelled') };
    for (const name of ['not run', 'group not run', 'm2'])
      await expect(holds.decide('document', await given(`${decision} ${name}`, [name]), asked)).rejects.toMatchObject({
        ...{ code: 'not_held', message: expect.stringContaining(`${name} is acknowledged and not run yet`) },
      });
    const both = await given(`${decision} both`, ['not run', 'never came']);
    expect((await holds.decide('document', both, asked)).missing).toMatchObject([{ commandId: 'never came' }]);
  }
});

it('a group that waits for a command which never came is ended, over the API', async () => {
  const after = [{ commandId: 'never', requestId: randomUUID() }];
  const groupId = randomUUID();
  const member = { requestId: randomUUID(), commandId: 'member', account: 'main', after: [] };
  const registration = { groupId, commandId: 'g', account: 'main', kind: 'split', members: [member], after };
  const events = decideGroup(NO_GROUP, { type: 'Register', registration: registration as never });
  await store.append(
    groupStream(groupId),
    'none',
    events.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: {} }) as unknown as NewEvent),
  );
  const { status, json } = await harness.post({ reason: 'it was cancelled' }, `/v1/groups/${groupId}/end`);
  const missing = [{ command_id: 'never', request_id: after[0]?.requestId }];
  expect([status, json()]).toEqual([202, { request_id: groupId, decision: 'end', held_for: [], missing }]);
  const { rows } = await harness.db.pool.query<{ payload: string }>(
    `SELECT payload FROM task WHERE kind = 'decide_hold' AND key LIKE '%' || $1 || '%'`,
    [groupId],
  );
  expect(rows.map(({ payload }) => JSON.parse(payload) as object)).toMatchObject([
    { requestId: groupId, isGroup: true, decision: 'end', predecessors: [], missing: [after[0]?.requestId] },
  ]);
});

it('a member of a group is told to be held, or to wait, with its group, and what to decide about', async () => {
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  const after = [{ commandId: 'before the group', requestId: randomUUID() }];
  const [groupId, requestId] = [randomUUID(), randomUUID()];
  await harness.post({ command_id: 'like a member', xml: arrival() });
  const like = await harness.run('like a member', [], { projected: false });
  const [registered] = await store.readStream(`document-${like}`);
  const member = { ...registered?.data, requestId, group: { groupId, index: 0, of: 1 } };
  const append = async (stream: string, events: { type: string; data: object }[]): Promise<void> => {
    const made = events.map((one) => ({ ...one, id: randomUUID(), schemaVersion: 1, metadata: {} }));
    expect((await store.append(stream, 'any', made as never)).kind).toBe('appended');
  };
  const registration = { groupId, commandId: 'g', account: 'main', kind: 'group', members: [member], after };
  const waiting = decideGroup(NO_GROUP, { type: 'Register', registration: registration as never });
  await append(groupStream(groupId), waiting);
  await append(`document-${requestId}`, [{ type: 'DocumentRegistered', data: member }]);
  const release = () => holds.decide('document', requestId, { decision: 'release', ...by('anna', 'it may go') });
  const message = (stands: string) =>
    `document ${requestId} is a member of the group ${groupId}, which ${stands}: release or end the group instead`;
  await expect(release()).rejects.toMatchObject({ code: 'not_held', message: message('waits') });
  const state = waiting.reduce(evolveGroup, NO_GROUP);
  const noted = { type: 'NotePredecessor', requestId: after[0]?.requestId ?? '', outcome: 'rejected' } as const;
  await append(groupStream(groupId), decideGroup(state, noted));
  await expect(release()).rejects.toMatchObject({ code: 'not_held', message: message('is held') });
});

/** A group of two whose documents the registry has, after these further commands. */
async function sentGroup(...commands: GroupCommand[]) {
  return groupOf(true, commands);
}

async function groupOf(isSent: boolean, commands: GroupCommand[]) {
  const groupId = randomUUID();
  const ids = [randomUUID(), randomUUID()];
  const members = ids.map((requestId) => ({ requestId, commandId: `c-${requestId}`, account: 'main', after: [] }));
  const registration = { groupId, commandId: 'g', account: 'main', kind: 'given', members, after: [] };
  const all: GroupCommand[] = [
    { type: 'Register', registration: registration as never },
    ...(isSent ? ids : []).map((requestId) => ({
      type: 'NoteMemberSent' as const,
      requestId,
      documentId: `d-${requestId}`,
    })),
    ...commands,
  ];
  let state: GroupState = NO_GROUP;
  const events = all.flatMap((command) => {
    const decided = decideGroup(state, command);
    state = decided.reduce(evolveGroup, state);
    return decided;
  });
  const made = events.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: {} }));
  expect((await store.append(groupStream(groupId), 'none', made as never)).kind).toBe('appended');
  const end = async (body: object) => {
    const { status, json } = await harness.post(body, `/v1/groups/${groupId}/end`);
    return { status, body: json() };
  };
  const planned = async () => {
    const { rows } = await harness.db.pool.query<{ payload: string }>(
      `SELECT payload FROM task WHERE kind = 'decide_hold' AND key LIKE '%' || $1 || '%' ORDER BY key`,
      [groupId],
    );
    return rows.map(({ payload }) => JSON.parse(payload) as object);
  };
  return { groupId, ids, end, planned };
}

const SHA = 'a'.repeat(64);
const STARTABLE: GroupCommand = { type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA };
const DOUBTED: GroupCommand[] = [
  STARTABLE,
  { type: 'BeginStart' },
  { type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'unconfirmed', reason: 'timeout' } },
];
const STARTED: GroupCommand[] = [
  ...DOUBTED.slice(0, 2),
  { type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'started', answerSha256: SHA } },
];
const END: GroupCommand = { type: 'EndByPerson', attempt: 1, reason: 'it is lost' };
const IN_WORK: GroupCommand = { type: 'EndByPerson', reason: 'it is lost', inWork: true };

it('a group of which nobody knows whether it has begun is ended for a reason, once, however often that is asked', async () => {
  const { groupId, end, planned } = await sentGroup(...DOUBTED);
  const answer = { request_id: groupId, decision: 'end', held_for: [], start: 'unconfirmed' };
  for (let times = 0; times < 2; times += 1)
    expect(await end({ reason: 'it is lost' })).toEqual({ status: 202, body: answer });
  const what = { requestId: groupId, isGroup: true, decision: 'end', predecessors: [], start: 1 };
  expect(await planned()).toEqual([expect.objectContaining({ ...what, reason: 'it is lost' })]);
  expect(await end({ reason: 'it is lost', in_work: true })).toEqual({
    status: 202,
    body: { ...answer, in_work: true },
  });
  expect(await planned()).toMatchObject([what, { ...what, inWork: true }]);
  for (const body of [{}, { reason: '' }])
    expect(await end(body)).toMatchObject({ body: { code: 'invalid_command', field: '/reason' } });
});

it('what is in work of a group that a person ended is ended by a second decision that says so', async () => {
  const { groupId, end, planned } = await sentGroup(...DOUBTED, END);
  expect(await end({ reason: 'it is lost' })).toMatchObject({
    status: 409,
    body: { code: 'not_held', detail: expect.stringContaining('is ended with in_work alone') },
  });
  expect(await end({ reason: 'it is lost', in_work: true })).toMatchObject({
    status: 202,
    body: { request_id: groupId, start: 'halted', in_work: true },
  });
  expect(await planned()).toEqual([expect.not.objectContaining({ start: expect.anything() })]);
  expect(await planned()).toMatchObject([{ inWork: true, decision: 'end' }]);
});

it.each([
  ['is checked', [], /it is checking; only one that is held, or of which nobody knows/],
  ['is to be started', [STARTABLE], /it is startable; only/],
  ['has begun', STARTED, /it is started; only/],
  ['was ended with what is in work', [...DOUBTED, END, IN_WORK], /it was ended before, with what is in work/],
] as const)('a group that %s is not ended, with or without in_work, in clear words', async (_name, commands, words) => {
  const { end, planned } = await sentGroup(...commands);
  for (const more of [{}, { in_work: true }]) {
    const { status, body } = await end({ reason: 'it is lost', ...more });
    expect([status, body['code'], body['detail']]).toEqual([409, 'not_held', expect.stringMatching(words)]);
  }
  expect(await planned()).toEqual([]);
});

it('a group that began and halted, or waits, is not ended with in_work; none that is not there is ended at all', async () => {
  const halted = await sentGroup(...STARTED);
  const rejected = { type: 'NoteMemberConcluded', outcome: 'rejected', partialStops: true } as const;
  const stopped = await sentGroup(...STARTED);
  const state = (await store.readStream(groupStream(stopped.groupId))) as unknown as GroupEvent[];
  const events = decideGroup(state.reduce(evolveGroup, NO_GROUP), { ...rejected, requestId: stopped.ids[0] as string });
  const made = events.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: {} }));
  await store.append(groupStream(stopped.groupId), 'any', made as never);
  expect(await stopped.end({ reason: 'it is lost', in_work: true })).toMatchObject({
    body: { code: 'not_held', detail: expect.stringContaining('it has begun, and halted') },
  });
  expect(await halted.end({ reason: 'it is lost', in_work: 'yes' })).toMatchObject({ body: { field: '/in_work' } });
  const before = { commandId: 'before', requestId: randomUUID(), items: { kind: 'same', count: 1, first: 'x' } };
  const waiting = await groupOf(false, [{ type: 'WaitForItems', round: 1, for: [before] } as never]);
  expect(await waiting.end({ reason: 'it is lost', in_work: true })).toMatchObject({
    body: { code: 'not_held', detail: expect.stringContaining('end it without in_work') },
  });
  const { status } = await harness.post({ reason: 'it is lost', in_work: true }, `/v1/groups/${randomUUID()}/end`);
  expect(status).toBe(404);
});

it('a member of a group of which nobody knows whether it has begun is ended with its group', async () => {
  const { groupId } = await sentGroup(...DOUBTED);
  await harness.post({ command_id: 'like another member', xml: arrival() });
  const like = await harness.run('like another member', [], { projected: false });
  const [registered] = await store.readStream(`document-${like}`);
  const requestId = randomUUID();
  const sent = { attempt: 1, documentId: 'd-1', answerSha256: SHA, foundByLookUp: true };
  const events = [
    { type: 'DocumentRegistered', data: { ...registered?.data, requestId, group: { groupId, index: 0, of: 1 } } },
    { type: 'DocumentSent', data: sent },
  ].map((one) => ({ ...one, id: randomUUID(), schemaVersion: 1, metadata: {} }));
  await store.append(`document-${requestId}`, 'none', events as never);
  const { json } = await harness.post({ reason: 'it is lost' }, `/v1/documents/${requestId}/end`);
  expect(json()['detail']).toContain(`${groupId}, of which nobody knows whether it has begun: end the group instead`);
});
