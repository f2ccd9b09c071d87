import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decideHold } from '../../apps/cli/src/commands/holds.js';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 120_000;
/**
 * A FAILED that turns after 6 s has turned when its grace has long been over: its status is read again at 4, 8 and 16
 * s.
 */
const GRACE_MS = 2_000;
const TURNS_AFTER_MS = 6_000;
/** A consignment that was shipped to somebody else: to accept a pack of it is rejected. */
const FOREIGN = 900;

interface Document {
  request_id: string;
  phase: string;
  outcome?: string;
  cause?: string;
  sentence: string;
  remedy?: string;
  holds: { kind: string; since: string; for: { command_id: string; outcome?: string }[]; waivable_by: string }[];
  timeline: { type: string; at: string; actor: string }[];
}
interface Told {
  type: string;
  data: {
    command_id: string;
    held_for?: { command_id: string; outcome: string }[];
    outcome?: string;
    reference?: string;
    sentence: string;
  };
}

let stack: Stack;
const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const post = async (path: string, body: object): Promise<{ status: number; body: Record<string, string> }> => {
  const answer = await fetch(`${stack.gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
};
const give = async (body: object): Promise<void> =>
  expect((await post('/v1/commands', { account: 'main', ...body })).status).toBe(202);
const documentOf = async (commandId: string): Promise<Document> =>
  (await ask<{ document: Document }>(`/v1/commands/${commandId}`)).document;
const groupOf = async (commandId: string): Promise<Document & { group_id: string }> =>
  (await ask<{ group: Document & { group_id: string } }>(`/v1/commands/${commandId}`)).group;
const reaches = (commandId: string, phase: string): Promise<void> =>
  until(`${commandId} is ${phase}`, async () => (await documentOf(commandId)).phase === phase, LIMIT_MS);
const toldOf = async (commandId: string): Promise<Told[]> =>
  (await ask<{ items: Told[] }>('/v1/outcomes?limit=100')).items.filter((one) => one.data.command_id === commandId);
const { accept, movePlace, pack } = doc;

beforeAll(async () => {
  stack = await startStack({
    sandbox: { language: 'en', processingMs: 50 },
    overrides: { rules: { unknownGraceMs: 1_500, failedGraceMs: GRACE_MS } },
  });
  await stack.control('/faults', { fault: 'failed_then_processed', method: 'send', value: TURNS_AFTER_MS, times: 1 });
  await give({ command_id: 'turns', xml: accept([pack(1)]) });
  await reaches('turns', 'concluded');
  // They register while it counts as failed, and wait for its grace.
  await give({ command_id: 'next', reference: 'ERP/N', xml: movePlace([pack(1)]), after: ['turns'] });
  await give({
    command_id: 'last',
    xml: movePlace([pack(1)], { subject: doc.PLACES.shop, receiver: doc.PLACES.second }),
    after: ['next'],
  });
  await give({ command_id: 'bad', xml: accept([pack(2, FOREIGN)]) });
  for (const [id, n] of [
    ['goes', 3],
    ['ends', 4],
  ] as const)
    await give({ command_id: id, xml: accept([pack(n)]), after: ['bad'] });
  await give({
    command_id: 'together',
    type: 'send_group',
    group: { members: [{ command_id: 't-1', xml: accept([pack(5)]) }] },
    after: ['bad'],
  });
}, 600_000);
afterAll(() => stack?.stop());

describe('a FAILED that turns out accepted long after its grace', () => {
  it('has held what comes after it, and released it: the ERP heard held, then accepted, and never failed', async () => {
    await reaches('next', 'held');
    const held = await documentOf('next');
    expect(ANSWERS.Document.safeParse(held).error).toBeUndefined();
    expect(held.holds).toMatchObject([
      { kind: 'after', for: [{ command_id: 'turns', outcome: 'failed' }], waivable_by: 'operator' },
    ]);
    expect((await documentOf('last')).holds).toMatchObject([
      { kind: 'after', for: [{ command_id: 'next' }], waivable_by: 'nobody' },
    ]);
    for (const id of ['next', 'last']) await reaches(id, 'concluded');
    expect([
      (await documentOf('turns')).outcome,
      (await documentOf('next')).outcome,
      (await documentOf('last')).outcome,
    ]).toEqual(['accepted', 'accepted', 'accepted']);
    await stack.caughtUp();
    const told = await toldOf('next');
    expect(told.map((one) => one.type)).toEqual([
      'pedigree.document.waiting.v1',
      'pedigree.document.held.v1',
      'pedigree.document.concluded.v1',
    ]);
    expect(told[1]).toMatchObject({
      data: {
        reference: 'ERP/N',
        held_for: [{ command_id: 'turns', outcome: 'failed' }],
        sentence: expect.stringContaining('turns ended failed'),
      },
    });
    expect(told[2]?.data.outcome).toBe('accepted');
    // What merely waited for the one that was held heard of nothing.
    expect((await toldOf('last')).map((one) => one.type)).toEqual([
      'pedigree.document.waiting.v1',
      'pedigree.document.concluded.v1',
    ]);
    // Bad news waited for the grace.
    const concludedAt = (await documentOf('turns')).timeline.find((one) => one.type === 'DocumentConcluded')?.at ?? '';
    const heldAt = (await documentOf('next')).timeline.find((one) => one.type === 'DocumentHeld')?.at ?? '';
    expect(Date.parse(heldAt) - Date.parse(concludedAt)).toBeGreaterThanOrEqual(GRACE_MS);
  });
});

const REASONS =
  `SELECT type, convert_from(metadata, 'UTF8')::jsonb->>'reason' AS reason FROM event WHERE type IN ` +
  `('HoldWaived', 'DocumentRefused', 'GroupHalted') ORDER BY position`;
const end = async (id: string, reason: string): Promise<object> =>
  (await post(`/v1/documents/${id}/end`, { reason })).body;

describe('what comes after a rejected document', () => {
  it('is sent, or ended, when a person says so, with the reason in the log; a group as well', async () => {
    for (const id of ['goes', 'ends']) await reaches(id, 'held');
    await until('the group is held', async () => (await groupOf('together')).phase === 'held', LIMIT_MS);
    const [goes, ends, group] = [
      (await documentOf('goes')).request_id,
      (await documentOf('ends')).request_id,
      (await groupOf('together')).group_id,
    ];
    const { status, body } = await post(`/v1/documents/${goes}/release`, { reason: 'the goods stand in the yard' });
    expect([status, ANSWERS.HoldDecision.parse(body)]).toMatchObject([
      202,
      { request_id: goes, decision: 'release', held_for: [{ command_id: 'bad', outcome: 'rejected' }] },
    ]);
    expect(await decideHold(stack.client, 'end', { named: ends, reason: 'sent by fax' })).toBe(0);
    expect(await decideHold(stack.client, 'end', { named: group, reason: 'sent by fax' })).toBe(0);
    for (const id of ['goes', 'ends']) await reaches(id, 'concluded');
    await until('the group ends', async () => (await groupOf('together')).phase === 'concluded', LIMIT_MS);
    expect(await documentOf('goes')).toMatchObject({ outcome: 'accepted' });
    expect(await documentOf('ends')).toMatchObject({ outcome: 'failed', cause: 'predecessor_failed', holds: [] });
    expect((await stack.db.pool.query(REASONS)).rows).toEqual(
      expect.arrayContaining([
        { type: 'HoldWaived', reason: 'the goods stand in the yard' },
        { type: 'DocumentRefused', reason: 'sent by fax' },
        { type: 'GroupHalted', reason: 'sent by fax' },
      ]),
    );
    await stack.caughtUp();
    expect((await toldOf('together')).map((one) => one.type)).toEqual([
      'pedigree.group.held.v1',
      'pedigree.group.halted.v1',
      'pedigree.group.concluded.v1',
    ]);
    expect(await end(goes, 'too late')).toMatchObject({ status: 409, code: 'not_held' });
    expect(await end(group, 'too late')).toMatchObject({ status: 404, code: 'not_found' });
    expect(await end(goes, '')).toMatchObject({ code: 'invalid_command', field: '/reason' });
  });
});
