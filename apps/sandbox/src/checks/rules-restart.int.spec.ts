import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import { GTIN, PLACES } from '../../test/documents.js';
import { documentOf, type Values } from '../../test/instance.js';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-rules-'));
const pack = (n: number): string => `${GTIN}RESTART00000${n}`;
const RESERVED = '046000000000007778';
let client: TestClient;

beforeAll(async () => {
  client = await TestClient.start({ dataDir: folder });
});
afterAll(async () => {
  await client.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function act(from: string, docType: number, values: Values): Promise<{ document_id: string; result: string }> {
  const xml = documentOf(docType, { subject_id: from, ...values });
  const { json } = await client.control('POST', '/counterparties/act', { from, xml });
  await client.advance(1);
  const { documents } = (await client.control('GET', '/truth/documents')).json as {
    documents: { document_id: string; result: string }[];
  };
  return documents.find((one) => one.document_id === json.document_id) as { document_id: string; result: string };
}

/** All that the registry has: documents with their bytes, and the packs. */
async function everything(): Promise<unknown> {
  const { documents } = (await client.control('GET', '/truth/documents')).json;
  const files = documents.map((one: { document_id: string }) =>
    client.control('GET', `/truth/files/${one.document_id}`),
  );
  return {
    documents,
    files: (await Promise.all(files)).map(({ json }) => json),
    packs: await Promise.all([1, 2, 3, 4].map((n) => client.pack(pack(n)))),
  };
}

it('what documents did and left behind is the same after a restart', async () => {
  const planted = [1, 2, 3, 4].map((n) => ({ sgtin: pack(n), owner: 'own', place: PLACES.warehouse }));
  await client.control('POST', '/plant', { packs: planted });
  const moved = await act('own', 431, { sgtin: [pack(1), pack(2)], receiver_id: PLACES.second });
  await act('own', 250, { operation_id: moved.document_id, recall_action_id: '431' });
  await act('supplier-a', 702, { sgtin: pack(2) });
  await act('own', 10511, { sgtin: pack(3), receipt_id: 'R-1' });
  await act('supplier-a', 213, { operation_type: '1', sscc: RESERVED });
  await client.control('POST', '/write-off', { sgtins: [pack(4)] });
  const before = await everything();
  expect(before).toMatchObject({
    packs: [
      { owner: 'own', place: PLACES.warehouse },
      { owner: 'supplier-a', place: PLACES.supplier },
      { status: 'in_sale' },
      { status: 'out_of_circulation' },
    ],
  });

  await client.stop();
  client = await TestClient.start({ dataDir: folder });
  expect(await everything()).toEqual(before);
  const correction = { sgtin: pack(3), receipt_id: 'R-2', origin_receipt_id: 'R-1', corrected_part: '1/4' };
  const results = [
    await act('own', 911, { sgtin: pack(1), sscc: RESERVED }),
    await act('own', 250, { operation_id: moved.document_id, recall_action_id: '431' }),
    await act('own', 10501, correction),
  ].map(({ result }) => result);
  expect(results).toEqual(['Rejected', 'Rejected', 'Accepted']);
});
