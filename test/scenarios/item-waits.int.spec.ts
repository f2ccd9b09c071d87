// Left to the soak: programs at work. `npm test` has item-claims.int and places.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 120_000;
/** A consignment that was shipped to somebody else: to accept a pack of it is rejected. */
const FOREIGN = 900;
const BOX = '146070000000000019';

interface Document {
  request_id: string;
  phase: string;
  outcome?: string;
  sentence: string;
  holds: {
    kind: string;
    since: string;
    for: { command_id: string; outcome?: string; items?: string[]; item_count?: number }[];
    waivable_by: string;
  }[];
  timeline: { type: string; at: string; sentence: string }[];
}

let stack: Stack;
let second: RunningWorker;
const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const post = async (path: string, body: object): Promise<number> =>
  (
    await fetch(`${stack.gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).status;
const documentOf = async (commandId: string): Promise<Document> =>
  (await ask<{ document: Document }>(`/v1/commands/${commandId}`)).document;
const reaches = (commandId: string, ...phases: string[]): Promise<void> =>
  until(
    `${commandId} is ${phases.join(' or ')}`,
    async () => phases.includes((await documentOf(commandId))?.phase),
    LIMIT_MS,
  );
/** Order is that of the log: the next one is given when this one stands there. */
async function give(commandId: string, xml: string, more: object = {}): Promise<void> {
  expect(await post('/v1/commands', { account: 'main', command_id: commandId, xml, ...more })).toBe(202);
  await until(
    `${commandId} is registered`,
    async () => (await documentOf(commandId))?.phase !== 'acknowledged',
    LIMIT_MS,
  );
}
const at = async (commandId: string, type: string): Promise<number> =>
  Date.parse((await documentOf(commandId)).timeline.find((one) => one.type === type)?.at ?? '');
const { accept, movePlace, pack } = doc;

beforeAll(async () => {
  stack = await startStack({
    sandbox: { language: 'en', processingMs: 1_500 },
    env: { PEDIGREE_FACT_RELEASE_HOURS: '0' },
  });
  second = await startWorker(workerConfig(stack.env));
}, LIMIT_MS);
afterAll(async () => {
  await second?.stop();
  await stack?.stop();
});

describe('a later document of the same packs, with two workers', () => {
  it(
    'waits, shows for what, and goes when the first is accepted',
    async () => {
      await give('arrival', accept([pack(1), pack(2), pack(3), pack(4)]));
      await give('move', movePlace([pack(1)]));
      await reaches('move', 'waiting');
      const waiting = await documentOf('move');
      expect(ANSWERS.Document.safeParse(waiting).error).toBeUndefined();
      expect(waiting.holds).toMatchObject([
        {
          kind: 'items',
          for: [{ command_id: 'arrival', items: [pack(1)], item_count: 1 }],
          waivable_by: 'nobody',
        },
      ]);
      expect(waiting.sentence).toContain(`arrival (both concern ${pack(1)})`);
      for (const id of ['arrival', 'move']) await reaches(id, 'concluded');
      expect([(await documentOf('arrival')).outcome, (await documentOf('move')).outcome]).toEqual([
        'accepted',
        'accepted',
      ]);
      expect(await at('move', 'SendAttempted')).toBeGreaterThanOrEqual(await at('arrival', 'DocumentConcluded'));
      await stack.caughtUp();
      const { items } = await ask<{ items: { type: string; data: { command_id: string; waiting_for: object[] } }[] }>(
        '/v1/outcomes?limit=100',
      );
      const told = items.filter((one) => one.data.command_id === 'move');
      expect(told.map((one) => one.type)).toEqual(['pedigree.document.waiting.v1', 'pedigree.document.concluded.v1']);
      expect(told[0]?.data.waiting_for).toMatchObject([{ command_id: 'arrival', items: [pack(1)], item_count: 1 }]);
    },
    LIMIT_MS,
  );

  it(
    'waits for a pack inside the container that it opens, and a pack waits for its container',
    async () => {
      await give('packing', doc.unitPack(BOX, [pack(2), pack(3), pack(4)]));
      await reaches('packing', 'concluded');
      expect((await documentOf('packing')).outcome).toBe('accepted');
      await give('one', doc.withdrawal([pack(2)]));
      await give('opening', doc.unitUnpack([BOX]));
      await give('other', doc.withdrawal([pack(3)]));
      await reaches('opening', 'waiting');
      await reaches('other', 'waiting');
      expect((await documentOf('opening')).holds).toMatchObject([{ kind: 'items', for: [{ command_id: 'one' }] }]);
      expect((await documentOf('other')).holds).toMatchObject([
        { kind: 'items', for: [{ command_id: 'opening', items: [BOX] }] },
      ]);
      for (const id of ['one', 'opening', 'other']) await reaches(id, 'concluded');
      for (const id of ['one', 'opening', 'other']) expect((await documentOf(id)).outcome).toBe('accepted');
      expect(await at('opening', 'SendAttempted')).toBeGreaterThanOrEqual(await at('one', 'DocumentConcluded'));
      expect(await at('other', 'SendAttempted')).toBeGreaterThanOrEqual(await at('opening', 'DocumentConcluded'));
    },
    LIMIT_MS,
  );

  it(
    'is held when the first is rejected, until a person releases it; a report of a fact goes with a warning',
    async () => {
      await give('bad', accept([pack(1, FOREIGN), pack(2, FOREIGN)]));
      await give('shipment', movePlace([pack(1, FOREIGN)]));
      await give('sale', doc.withdrawal([pack(2, FOREIGN)]));
      await reaches('shipment', 'held');
      const held = await documentOf('shipment');
      expect(held.holds).toMatchObject([
        { kind: 'items', for: [{ command_id: 'bad', outcome: 'rejected' }], waivable_by: 'operator' },
      ]);
      await reaches('sale', 'concluded');
      const types = (await documentOf('sale')).timeline.map((one) => one.type);
      expect(types).toEqual(expect.arrayContaining(['DocumentHeld', 'HoldLapsed', 'DocumentReleased', 'DocumentSent']));
      expect(await post(`/v1/documents/${held.request_id}/release`, { reason: 'seen in the yard' })).toBe(202);
      await reaches('shipment', 'concluded');
      expect((await documentOf('shipment')).timeline.map((one) => one.type)).toContain('HoldWaived');
    },
    LIMIT_MS,
  );

  it(
    'does not wait where its command waives that',
    async () => {
      await give('again', accept([pack(8)]));
      await give('hasty', movePlace([pack(8)]), { waive_item_wait: true });
      for (const id of ['again', 'hasty']) await reaches(id, 'concluded');
      expect((await documentOf('hasty')).timeline.map((one) => one.type)).not.toContain('DocumentWaiting');
    },
    LIMIT_MS,
  );
});

describe('a group among such documents', () => {
  it(
    'waits as a whole for an earlier document, its members not for each other, and a later one for its member',
    async () => {
      await give('before', accept([pack(20), pack(21)]));
      const members = [
        { command_id: 'g-1', xml: movePlace([pack(20)]) },
        {
          command_id: 'g-2',
          xml: movePlace([pack(20)], { subject: doc.PLACES.shop, receiver: doc.PLACES.second }),
        },
      ];
      const body = { account: 'main', command_id: 'group', type: 'send_group', group: { members } };
      expect(await post('/v1/commands', body)).toBe(202);
      const groupOf = async () =>
        (await ask<{ group?: Document }>('/v1/commands/group')).group ?? ({ phase: 'acknowledged' } as Document);
      await until('the group waits', async () => (await groupOf()).phase === 'waiting', LIMIT_MS);
      expect((await groupOf()).holds).toMatchObject([{ kind: 'items', for: [{ command_id: 'before' }] }]);
      await give('behind', movePlace([pack(20)], { subject: doc.PLACES.second, receiver: doc.PLACES.shop }));
      await reaches('behind', 'waiting');
      expect((await documentOf('behind')).holds).toMatchObject([{ kind: 'items', for: [{ command_id: 'g-2' }] }]);
      await reaches('behind', 'concluded');
      expect([(await groupOf()).outcome, (await documentOf('behind')).outcome]).toEqual(['accepted', 'accepted']);
    },
    LIMIT_MS,
  );
});

describe('a chain of `after` whose middle comes last', () => {
  it(
    'refuses nobody: the first, a group, waits no more for the last by their items',
    async () => {
      await give('arrived', accept([pack(30), pack(31)]));
      await reaches('arrived', 'concluded');
      const back = { subject: doc.PLACES.shop, receiver: doc.PLACES.second };
      await give('chain-last', movePlace([pack(30)], back), { after: ['chain-middle'] });
      const members = [{ command_id: 'chain-member', xml: movePlace([pack(30)]) }];
      const body = { account: 'main', command_id: 'chain-first', type: 'send_group', group: { members } };
      expect(await post('/v1/commands', body)).toBe(202);
      const first = async () => (await ask<{ group?: Document }>('/v1/commands/chain-first')).group;
      await until('the group waits', async () => (await first())?.phase === 'waiting', LIMIT_MS);
      expect((await first())?.holds).toMatchObject([{ kind: 'items', for: [{ command_id: 'chain-last' }] }]);
      await give('chain-middle', movePlace([pack(31)]), { after: ['chain-first'] });
      await reaches('chain-last', 'concluded');
      const ends = [await first(), await documentOf('chain-middle'), await documentOf('chain-last')];
      expect(ends.map((one) => one?.outcome)).toEqual(['accepted', 'accepted', 'accepted']);
      expect(await at('chain-last', 'SendAttempted')).toBeGreaterThanOrEqual(
        await at('chain-middle', 'DocumentConcluded'),
      );
    },
    LIMIT_MS,
  );
});
