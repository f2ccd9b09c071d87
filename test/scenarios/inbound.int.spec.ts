import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import type { DocumentDetail, InboundDetail, InboundSummary, SgtinHistory } from '#read-models';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
/** Lists that are read often keep the test short. */
const RULES = { listPollMs: 300 };

const own = (n: number): string => `${doc.GTIN}INBOUND00000${n}`;
const suppliers = (n: number): string => `${doc.GTIN}SUPPLIED0000${n}`;
const [shipped, shippedToo, movedInCabinet, soldAtTill] = [own(1), own(2), own(3), own(4)] as [
  string,
  string,
  string,
  string,
];

let stack: Stack;
/** request_ids of ours. */
let shipment: string;
let reverseOrder: string;
let listed: InboundSummary[];

async function send(commandId: string, xml: string): Promise<string> {
  for await (const result of stack.client.send([{ command_id: commandId, account: 'main', xml }])) {
    if ('request_id' in result) return result.request_id as string;
    throw new Error(JSON.stringify(result));
  }
  throw new Error('no result');
}

const all = async (): Promise<InboundSummary[]> =>
  (await stack.client.get<{ items: InboundSummary[] }>('/v1/inbound')).items;
const titles = (): (number | undefined)[] => listed.map((one) => one.docType).sort((a, b) => (a ?? 0) - (b ?? 0));
const ofType = (docType: number): InboundSummary => listed.find((one) => one.docType === docType) as InboundSummary;

function saleAtTill(sgtin: string): string {
  const receipt =
    '<receipt><type>3</type><operation_date>2026-11-21T10:00:00+03:00</operation_date><items><item><sgtin>' +
    `${sgtin}</sgtin><cost>10.00</cost><vat_value>1.00</vat_value></item></items></receipt>`;
  return doc.envelope(
    10511,
    'retail_sell_kkt',
    `<subject_id>${doc.PLACES.warehouse}</subject_id><inn>7701234501</inn><sell_details>${receipt}</sell_details>`,
  );
}

beforeAll(async () => {
  stack = await startStack({
    sandbox: { seed: 5, processingMs: 100 },
    overrides: { rules: RULES },
    env: { LOG_LEVEL: 'error' },
  });
  await stack.control('/plant', {
    packs: [
      ...[shipped, shippedToo, movedInCabinet, soldAtTill].map((sgtin) => ({
        sgtin,
        owner: 'own',
        place: doc.PLACES.warehouse,
      })),
      { sgtin: suppliers(1), owner: 'supplier-a', place: doc.PLACES.supplier },
    ],
  });
  // The receiver of our shipment takes half of it and refuses the rest; the supplier confirms what is right of our
  // reverse order.
  await stack.control('/counterparties', { part: 1, delayMs: 0 });
  shipment = await send('ship', doc.moveOrder([shipped, shippedToo]));
  reverseOrder = await send('reverse', doc.receiveOrder([suppliers(1), suppliers(9)]));
  await stack.control('/counterparties/ship', { from: 'supplier-a', to: doc.PLACES.warehouse, count: 2 });
  await stack.control('/outside', { via: 'cabinet', xml: doc.movePlace([movedInCabinet]) });
  await until('the first are seen', async () => (await all()).length > 0, LIMIT_MS);
  // In the middle of it the worker ends, and more comes while nobody looks.
  await stack.worker.stop();
  await stack.control('/outside', { via: 'fiscal_operator', xml: saleAtTill(soldAtTill) });
  stack.worker = await startWorker(workerConfig(stack.env));
  const expected = 7;
  await until(
    'all are concluded, and tied to ours',
    async () => {
      listed = await all();
      return (
        listed.length >= expected &&
        listed.every((one) => one.phase === 'concluded') &&
        listed.filter((one) => one.belongsTo !== undefined).length >= 4
      );
    },
    LIMIT_MS,
  );
  await stack.caughtUp();
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

const movements = async (sgtin: string) =>
  (await stack.client.get<SgtinHistory>(`/v1/packs/${sgtin}/history`)).movements.map((one) => [
    one.docType,
    one.channel ?? 'ours',
    one.result,
  ]);

describe('what comes from others, over a restart', () => {
  it('is seen, each document once, though four accounts list it', async () => {
    expect(titles()).toEqual([431, 601, 606, 607, 607, 617, 10511]);
    expect(new Set(listed.map((one) => one.documentId)).size).toBe(listed.length);
    const { rows } = await stack.db.pool.query(`SELECT stream FROM event WHERE type = 'InboundSeen'`);
    expect(rows.length).toBe(listed.length);
  });

  it('tells by which way it came', () => {
    expect([601, 431, 10511].map((docType) => [ofType(docType).channel, ofType(docType).direction])).toEqual([
      ['counterparty', 'incoming'],
      ['cabinet', 'outgoing'],
      ['fiscal_operator', 'outgoing'],
    ]);
  });

  it('keeps bytes and receipt of what went out in our name', async () => {
    for (const docType of [431, 10511]) {
      const detail = await stack.client.get<InboundDetail>(`/v1/inbound/${ofType(docType).documentId}`);
      expect(detail.timeline.map((one) => one.type)).toEqual(
        expect.arrayContaining(['InboundSeen', 'InboundDownloaded', 'InboundReceiptStored', 'InboundConcluded']),
      );
      expect(detail).toMatchObject({
        outcome: 'accepted',
        documentSha256: expect.any(String),
        receiptSha256: expect.any(String),
      });
    }
  });

  it('belongs to the document of ours that it tells of: by its id, or by places and packs', async () => {
    expect(ofType(617).belongsTo).toEqual({ requestId: reverseOrder, by: 'request_id' });
    expect(ofType(606).belongsTo).toEqual({ requestId: shipment, by: 'items', sharedItems: 1 });
    const accepted = listed.filter((one) => one.docType === 607).map((one) => one.belongsTo);
    expect(accepted).toEqual(
      expect.arrayContaining([
        { requestId: shipment, by: 'items', sharedItems: 1 },
        { requestId: reverseOrder, by: 'items', sharedItems: 1 },
      ]),
    );
    expect(ofType(601)).not.toHaveProperty('belongsTo');
    const told = (await stack.client.get<DocumentDetail>(`/v1/documents/${shipment}`)).notifications;
    expect(told.map((one) => one.docType).sort()).toEqual([606, 607]);
  });

  it('stands in the packs’ lives, with its channel', async () => {
    expect(await movements(shipped)).toEqual([
      [415, 'ours', 'applied'],
      [607, 'counterparty', 'applied'],
    ]);
    expect(await movements(shippedToo)).toEqual([
      [415, 'ours', 'applied'],
      [606, 'counterparty', 'applied'],
    ]);
    expect(await movements(movedInCabinet)).toEqual([[431, 'cabinet', 'applied']]);
    expect(await movements(soldAtTill)).toEqual([[10511, 'fiscal_operator', 'applied']]);
    const sold = await stack.client.get<SgtinHistory>(`/v1/packs/${soldAtTill}/history`);
    expect(sold.status).toBe((await stack.control<{ status: string }>(`/truth/packs/${soldAtTill}`)).status);
    expect(await movements(suppliers(9))).toEqual([
      [416, 'ours', 'refused'],
      [617, 'counterparty', 'refused'],
    ]);
  });

  it('breaks no rule of the interface, and is not counted among our documents', async () => {
    expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
    expect(await stack.client.get('/v1/summary')).toMatchObject({ documents: 2 });
  });
});
