// Left to the soak: programs over days. `npm test` has the deadlines of libs/read-models.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import * as doc from '../../apps/sandbox/test/documents.js';
import type { InboundSummary, Timeliness } from '#read-models';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
const CALENDAR = fileURLToPath(new URL('../../apps/sandbox/data/deadlines.json', import.meta.url));

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({
    sandbox: { seed: 5, processingMs: 100 },
    overrides: { rules: { listPollMs: 300 } },
    env: { LOG_LEVEL: 'error', DEADLINE_CALENDAR: CALENDAR },
  });
}, LIMIT_MS);
afterAll(() => stack?.stop());

/** Claims this moment instead of its own. */
const claiming = (xml: string, at: string): string =>
  xml.replace(/(<operation_date>)[^<]*/, (_, tag: string) => `${tag}${at}`);

async function send(commandId: string, xml: string): Promise<string> {
  const { request_id: requestId } = await stack.client.command(
    JSON.stringify({ command_id: commandId, account: 'main', xml }),
  );
  return requestId;
}

const report = async (query: string): Promise<Timeliness> => {
  await stack.caughtUp();
  return stack.client.get<Timeliness>(`/v1/reports/timeliness?${query}`);
};

async function concluded(requestId: string): Promise<void> {
  const phase = async () => (await stack.client.get<{ phase: string }>(`/v1/documents/${requestId}`)).phase;
  await until(`${requestId} is concluded`, async () => (await phase()) === 'concluded', LIMIT_MS);
}

/** The packs that a document of the supplier names, from the evidence. */
async function packsOf({ documentSha256 }: InboundSummary): Promise<string[]> {
  const xml = await (await fetch(`${stack.gateway.url}/v1/evidence/${documentSha256 ?? ''}`)).text();
  return [...xml.matchAll(/<sgtin>([^<]{27})<\/sgtin>/g)].map(([, sgtin = '']) => sgtin);
}

it(
  'what the ERP tells too late is late for that reason, and what it tells at once is not',
  async () => {
    const prompt = await send('prompt', claiming(doc.accept([doc.pack(1)]), new Date().toISOString()));
    const late = await send('late', claiming(doc.accept([doc.pack(2)]), '2026-01-15T09:00:00+03:00'));
    await Promise.all([prompt, late].map(concluded));
    const { items, calendar } = await report('role=sender&doc_type=701');
    expect(calendar?.fictitious).toContain('made up');
    const of = (requestId: string) => items.find((one) => one.requestId === requestId);
    expect(of(prompt)).toMatchObject({ state: 'on_time', outcome: 'accepted', metWhen: 'accepted' });
    expect(of(late)).toMatchObject({
      state: 'late',
      cause: 'told_late',
      dueAt: '2026-01-20T21:00:00.000Z',
      dueBy: { clause: expect.stringContaining('Made-up rule 1') },
    });
    expect((await report('late=true')).items.map((one) => one.requestId)).toEqual([late]);
  },
  LIMIT_MS * 2,
);

it(
  'what is told to us waits for our answer, and is met by it, pack by pack',
  async () => {
    // The supplier acts at once, not after its minute.
    await stack.control('/counterparties', { delayMs: 0 });
    await stack.control('/counterparties/ship', { from: 'supplier-a', to: doc.PLACES.warehouse, count: 2 });
    let told: InboundSummary | undefined;
    await until(
      'the shipment is told to us',
      async () => {
        const { items } = await stack.client.get<{ items: InboundSummary[] }>('/v1/inbound?doc_type=601');
        told = items.find((one) => one.phase === 'concluded');
        return told !== undefined;
      },
      LIMIT_MS,
    );
    const shipment = told as InboundSummary;
    expect(shipment.dueBy?.clause).toContain('Made-up rule 4');
    const row = async () => (await report('role=receiver&doc_type=601')).items[0];
    expect(await row()).toMatchObject({ state: 'pending', items: 2, itemsAnswered: 0, dueAt: shipment.dueAt });
    const [first = '', second = ''] = await packsOf(shipment);
    await concluded(await send('half', claiming(doc.accept([first]), new Date().toISOString())));
    expect(await row()).toMatchObject({ state: 'pending', itemsAnswered: 1 });
    const rest = await send('rest', claiming(doc.accept([second]), new Date().toISOString()));
    await concluded(rest);
    expect(await row()).toMatchObject({ state: 'on_time', itemsAnswered: 2, answeredBy: rest });
  },
  LIMIT_MS * 2,
);
