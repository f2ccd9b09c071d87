import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 120_000;
const BOX = '146070000000000026';
const { PLACES } = doc;
/** A consignment that awaits acceptance at the shop. */
const pack = (index: number): string => doc.pack(index, 2);
const AT_SHOP = { subject: PLACES.shop };

interface Document {
  request_id: string;
  phase: string;
  outcome?: string;
  sentence: string;
  holds: { kind: string; for: { packs: object[]; pack_count: number }; waivable_by: string }[];
  timeline: { type: string; sentence: string }[];
}
interface Told {
  type: string;
  data: { command_id: string; held_at_gate?: object; held_for?: object[] };
}

let stack: Stack;
let second: RunningWorker;
const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const post = async (path: string, body: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${stack.gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
};
const documentOf = async (commandId: string): Promise<Document> =>
  (await ask<{ document: Document }>(`/v1/commands/${commandId}`)).document;
const reaches = (commandId: string, phase: string): Promise<void> =>
  until(`${commandId} is ${phase}`, async () => (await documentOf(commandId))?.phase === phase, LIMIT_MS);
async function give(commandId: string, xml: string): Promise<void> {
  expect(await post('/v1/commands', { account: 'main', command_id: commandId, xml })).toBe(202);
}
async function accepted(commandId: string, xml: string): Promise<Document> {
  await give(commandId, xml);
  await reaches(commandId, 'concluded');
  const document = await documentOf(commandId);
  expect([commandId, document.outcome, document.sentence]).toEqual([commandId, 'accepted', document.sentence]);
  return document;
}
const typesOf = async (commandId: string) => (await documentOf(commandId)).timeline.map((one) => one.type);
const toldOf = async (commandId: string): Promise<Told[]> => {
  await stack.caughtUp();
  return (await ask<{ items: Told[] }>('/v1/outcomes?limit=200')).items.filter(
    ({ data }) => data.command_id === commandId,
  );
};

beforeAll(async () => {
  stack = await startStack({ sandbox: { language: 'en', processingMs: 500 } });
  second = await startWorker(workerConfig(stack.env));
  await accepted('arrival', doc.accept([1, 2, 3, 4, 5, 6].map(pack), AT_SHOP));
}, LIMIT_MS);
afterAll(async () => {
  await second?.stop();
  await stack?.stop();
});

describe('a shipment whose packs may not be shipped, with two workers', () => {
  it(
    'is held and names the sold pack, the ERP hears it, and a person lets it go',
    async () => {
      const sale = await accepted('sale', doc.retailSale([{ id: pack(1) }], PLACES.shop));
      await give('shipment', doc.moveOrder([pack(1), pack(2)], AT_SHOP));
      await reaches('shipment', 'held');
      const held = await documentOf('shipment');
      expect(ANSWERS.Document.safeParse(held).error).toBeUndefined();
      const sold = {
        ...{ item: pack(1), reasons: ['not_in_trade'], status: 'in_sale' },
        told_by: { doc_type: 511, request_id: sale.request_id },
      };
      expect(held.holds).toMatchObject([
        { kind: 'gate', for: { packs: [sold], pack_count: 1 }, waivable_by: 'operator' },
      ]);
      expect(held.sentence).toContain(`${pack(1)} is in_sale`);
      expect(await typesOf('shipment')).toEqual(['DocumentRegistered', 'DocumentHeld']);
      const [told] = await toldOf('shipment');
      expect(told).toMatchObject({
        type: 'pedigree.document.held.v1',
        data: { held_for: [], held_at_gate: { packs: [sold], pack_count: 1 } },
      });
      expect(await post(`/v1/documents/${held.request_id}/release`, { reason: 'the till was wrong' })).toBe(202);
      await reaches('shipment', 'concluded');
      expect((await documentOf('shipment')).outcome).toBe('partial');
      expect(await typesOf('shipment')).toEqual(expect.arrayContaining(['HoldWaived', 'DocumentSent']));
    },
    LIMIT_MS,
  );

  it(
    'goes by itself when a later document makes the state fit',
    async () => {
      await accepted('shipped', doc.moveOrder([pack(3)], AT_SHOP));
      await give('shipped-again', doc.moveOrder([pack(3)], { ...AT_SHOP, docNum: 'N-2' }));
      await reaches('shipped-again', 'held');
      expect((await documentOf('shipped-again')).holds).toMatchObject([
        { for: { packs: [{ reasons: ['awaits_other_side', 'not_at_place'], told_by: { doc_type: 415 } }] } },
      ]);
      const id = (await documentOf('shipped-again')).request_id;
      // What takes the goods back names them too, and does not wait for what is held at the gate.
      await accepted('taken-back', doc.recall([pack(3)], AT_SHOP));
      await reaches('shipped-again', 'concluded');
      expect([id, (await documentOf('shipped-again')).outcome]).toEqual([id, 'accepted']);
      expect(await typesOf('shipped-again')).toEqual(
        expect.arrayContaining(['DocumentHeld', 'GateHoldLifted', 'DocumentReleased', 'DocumentSent']),
      );
    },
    LIMIT_MS,
  );

  it(
    'is ended by a person, and then nothing of it is sent',
    async () => {
      await accepted('packing', doc.unitPack(BOX, [pack(4), pack(5)], PLACES.shop));
      await give('one-of-them', doc.moveOrder([pack(4)], AT_SHOP));
      await reaches('one-of-them', 'held');
      expect((await documentOf('one-of-them')).holds).toMatchObject([
        { for: { packs: [{ reasons: ['in_container'], container: BOX }] } },
      ]);
      const id = (await documentOf('one-of-them')).request_id;
      expect(await post(`/v1/documents/${id}/end`, { reason: 'wrong pack' })).toBe(202);
      await reaches('one-of-them', 'concluded');
      const { outcome, sentence } = await documentOf('one-of-them');
      expect([outcome, sentence.includes('the known state of its packs forbids it')]).toEqual(['failed', true]);
      expect(await typesOf('one-of-them')).not.toContain('SendAttempted');
      // The container itself goes.
      await accepted('the-container', doc.moveOrder([BOX], AT_SHOP));
    },
    LIMIT_MS,
  );
});

describe('what is not held', () => {
  it(
    'a sale of a pack that was sold: it warns, and goes on',
    async () => {
      await give('sold-again', doc.retailSale([{ id: pack(1) }], PLACES.shop));
      await reaches('sold-again', 'concluded');
      const { timeline, outcome } = await documentOf('sold-again');
      expect(outcome).toBe('rejected');
      expect(timeline.map((one) => one.type)).toEqual(
        expect.arrayContaining(['DocumentRegistered', 'GateWarned', 'SendAttempted', 'DocumentSent']),
      );
      const warned = timeline.find((one) => one.type === 'GateWarned');
      expect(warned?.sentence).toContain(`${pack(1)} is in_sale`);
    },
    LIMIT_MS,
  );

  it(
    'a shipment of packs of which nothing is known',
    async () => {
      await give('unknown', doc.moveOrder([doc.pack(1, 901)], AT_SHOP));
      await reaches('unknown', 'concluded');
      expect(await typesOf('unknown')).toEqual(expect.not.arrayContaining(['DocumentHeld', 'GateWarned']));
    },
    LIMIT_MS,
  );
});
