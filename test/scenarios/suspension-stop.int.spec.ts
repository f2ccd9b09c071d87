import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkDigitOf } from '#kernel';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 120_000;
const { PLACES } = doc;
const SERIES = 'S-9';
const sscc = (body: string): string => `${body}${checkDigitOf(body)}`;
const [BOX, SHIPPED] = [sscc('14607000000000044'), sscc('14607000000000045')] as const;
const packs = Array.from({ length: 8 }, (_, n) => `${doc.GTIN}STOPPED00000${n}`);
const pack = (n: number): string => packs[n] as string;

interface Document {
  request_id: string;
  phase: string;
  outcome?: string;
  sentence: string;
  warnings?: object[];
  holds: { kind: string; for: { packs: object[]; pack_count: number }; waivable_by: string }[];
  timeline: { type: string; sentence: string }[];
}
interface Told {
  type: string;
  data: { command_id: string; held_for_suspension?: object; warnings?: object[] };
}

let stack: Stack;
let second: RunningWorker;
const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
async function post<T = object>(path: string, body: object): Promise<{ status: number; json: T }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${stack.gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, json: (await answer.json()) as T };
}
const documentOf = async (commandId: string): Promise<Document> =>
  (await ask<{ document: Document }>(`/v1/commands/${commandId}`)).document;
const reaches = (commandId: string, phase: string): Promise<void> =>
  until(`${commandId} is ${phase}`, async () => (await documentOf(commandId))?.phase === phase, LIMIT_MS);
async function give(commandId: string, xml: string) {
  const { status, json } = await post<{ warnings?: { code: string; count: number }[] }>('/v1/commands', {
    ...{ account: 'main', command_id: commandId, xml },
  });
  expect([commandId, status]).toEqual([commandId, 202]);
  return json;
}
async function accepted(commandId: string, xml: string): Promise<void> {
  await give(commandId, xml);
  await reaches(commandId, 'concluded');
  const { outcome, sentence } = await documentOf(commandId);
  expect([commandId, outcome, sentence]).toEqual([commandId, 'accepted', sentence]);
}
const typesOf = async (commandId: string) => (await documentOf(commandId)).timeline.map((one) => one.type);
const toldOf = async (commandId: string): Promise<Told[]> => {
  await stack.caughtUp();
  const { items } = await ask<{ items: Told[] }>('/v1/outcomes?limit=200');
  return items.filter(({ data }) => data.command_id === commandId);
};
const order = (haltType: string) =>
  stack.control('/suspensions', { gtin: doc.GTIN, batch: SERIES, halt_type: haltType });
const inForce = (count: number) =>
  until(
    `${count} suspensions in force`,
    async () => (await ask<{ items: object[] }>('/v1/suspensions?in_force=true')).items.length === count,
    LIMIT_MS,
  );
const atRegistry = async (commandId: string): Promise<boolean> => (await typesOf(commandId)).includes('SendAttempted');

beforeAll(async () => {
  stack = await startStack({
    sandbox: { seed: 9, processingMs: 50, language: 'en' },
    overrides: { rules: { listPollMs: 200 } },
    env: { PEDIGREE_SUSPENDED_LIST_MINUTES: '0.02', LOG_LEVEL: 'error' },
  });
  second = await startWorker(workerConfig(stack.env));
  const owned = { owner: 'supplier-a', place: PLACES.supplier };
  await stack.control('/plant', { packs: packs.map((sgtin) => ({ sgtin, ...owned, series: SERIES })) });
  const act = (xml: string) => stack.control('/counterparties/act', { from: 'supplier-a', xml });
  await act(doc.unitPack(BOX, packs, PLACES.supplier));
  await act(doc.moveOrder([BOX], { subject: PLACES.supplier, receiver: PLACES.warehouse }));
  const seriesOf = () => ask<{ packs?: number }>(`/v1/series/${doc.GTIN}/${SERIES}`);
  await until('the series is told', async () => (await seriesOf()).packs === packs.length, LIMIT_MS);
  await accepted('arrival', doc.accept([BOX], { counterparty: PLACES.supplier }));
  await accepted('unpacking', doc.unitUnpack([BOX]));
  await accepted('packing', doc.unitPack(SHIPPED, [pack(0), pack(1)], PLACES.warehouse));
  // Another stays suspended: a list of nothing is doubted, and releases nothing.
  const other = { sgtin: `${doc.GTIN}OTHER00000000`, owner: 'own', place: PLACES.warehouse, series: 'OTHER' };
  await stack.control('/plant', { packs: [other] });
  await stack.control('/suspensions', { gtin: doc.GTIN, batch: 'OTHER', halt_type: 'suspend' });
  await order('suspend');
  // Each by the list, and by its decision.
  await inForce(4);
}, 2 * LIMIT_MS);
afterAll(async () => {
  await second?.stop();
  await stack?.stop();
});

describe('a suspended series, with two workers', () => {
  it(
    'stops the shipment of a container that holds it: the ERP and the document say so, and an override sends it',
    async () => {
      const { warnings } = await give('shipment', doc.moveOrder([SHIPPED], { receiver: PLACES.customer }));
      expect(warnings).toMatchObject([
        { code: 'suspended', count: 2, suspensions: [expect.any(String), expect.any(String)] },
      ]);
      await reaches('shipment', 'held');
      const held = await documentOf('shipment');
      expect(ANSWERS.Document.safeParse(held).error).toBeUndefined();
      expect(held.warnings).toMatchObject([{ code: 'suspended', count: 2 }]);
      expect(held.holds).toMatchObject([
        {
          ...{ kind: 'suspension', waivable_by: 'operator' },
          for: { pack_count: 2, series: [{ gtin: doc.GTIN, series: SERIES, packs: [pack(0), pack(1)] }] },
        },
      ]);
      expect(held.sentence).toContain(`2 packs of series ${SERIES}`);
      expect(await typesOf('shipment')).toEqual(['DocumentRegistered', 'DocumentHeld']);
      expect(await toldOf('shipment')).toMatchObject([
        {
          type: 'pedigree.document.held.v1',
          data: { held_for_suspension: { pack_count: 2 }, warnings: [{ code: 'suspended' }] },
        },
      ]);
      const reason = 'the inspectorate allows this one, letter 7';
      expect((await post(`/v1/documents/${held.request_id}/release`, { reason })).status).toBe(202);
      await reaches('shipment', 'concluded');
      expect(await typesOf('shipment')).toEqual(expect.arrayContaining(['HoldWaived', 'SendAttempted']));
      const overrides = await ask<{ items: { type: string; reason: string }[] }>('/v1/access-log?kind=override');
      expect(overrides.items).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            type: 'HoldWaived',
            reason,
            details: { suspensions: [expect.any(String), expect.any(String)] },
          }),
        ]),
      );
    },
    LIMIT_MS,
  );

  it(
    'lets what passes by the table go, with a mark',
    async () => {
      const { warnings } = await give('withdrawal', doc.withdrawal([pack(2)]));
      expect(warnings).toMatchObject([{ code: 'suspended', count: 1 }]);
      await reaches('withdrawal', 'concluded');
      expect(await typesOf('withdrawal')).not.toContain('DocumentHeld');
      const told = (await toldOf('withdrawal')).at(-1);
      expect(told?.data.warnings).toMatchObject([{ code: 'suspended' }]);
    },
    LIMIT_MS,
  );

  it(
    'releases a sale that it has stopped when it ends, in both ways of holding',
    async () => {
      await give('sale', doc.retailSale([{ id: pack(3) }], PLACES.warehouse));
      await give('held-by-person', doc.retailSale([{ id: pack(4) }], PLACES.warehouse));
      await reaches('sale', 'held');
      await reaches('held-by-person', 'held');
      const { request_id: id } = await documentOf('held-by-person');
      expect((await post(`/v1/documents/${id}/hold`, { reason: 'quality looks' })).status).toBe(202);
      const kinds = async () => (await documentOf('held-by-person')).holds.map(({ kind }) => kind);
      await until('both hold it', async () => (await kinds()).length === 2, LIMIT_MS);
      expect(await kinds()).toEqual(['suspension', 'person']);
      await order('cancel');
      await reaches('sale', 'concluded');
      expect(await typesOf('sale')).toEqual(expect.arrayContaining(['SuspensionHoldLifted', 'DocumentReleased']));
      await until('one holds it', async () => (await kinds()).join() === 'person', LIMIT_MS);
      expect(await atRegistry('held-by-person')).toBe(false);
      expect((await post(`/v1/documents/${id}/hold`, { reason: 'again' })).status).toBe(409);
      expect((await post(`/v1/documents/${id}/release`, { reason: 'all is well' })).status).toBe(202);
      await reaches('held-by-person', 'concluded');
      expect(await atRegistry('held-by-person')).toBe(true);
    },
    LIMIT_MS,
  );
});
