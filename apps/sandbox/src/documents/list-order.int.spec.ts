import { afterEach, describe, expect, it } from '@jest/globals';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';

let client: TestClient;
afterEach(() => client.stop());

const idsOf = ({ json }: HttpAnswer): string[] => json.documents.map((one: { document_id: string }) => one.document_id);
const list = async (query = '', name = 'outcome'): Promise<string[]> =>
  idsOf(await client.get(`/documents/${name}${query}`));

/** A notification of a supplier's, without any effect. */
const incoming = async (): Promise<string> => {
  const xml = doc
    .moveOrder([pack(50)])
    .replaceAll('move_order', 'move_order_notification')
    .replace('"415"', '"601"');
  return (await client.control('POST', '/incoming', { from: 'supplier-a', to: 'own', xml })).json.document_id;
};

async function three(): Promise<string[]> {
  const sent: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    sent.push((await client.send(doc.accept([pack(n)]))).json.document_id);
    await client.advance(10_000);
  }
  return sent;
}

describe('the order of a list', () => {
  it('is oldest first where the sandbox was started so, page by page and from a date on', async () => {
    client = await TestClient.start({ listOrder: 'oldest', processingMs: 0 });
    const sent = await three();
    expect(await list()).toEqual(sent);
    expect(await list('?start_from=1&count=1')).toEqual([sent[1]]);
    expect(await list(`?document_ids=${[sent[2], sent[0]].join(',')}`)).toEqual([sent[0], sent[2]]);
    const { json } = await client.get(`/documents/${sent[1]}`);
    expect(await list(`?start_date=${encodeURIComponent(json.date)}`)).toEqual(sent.slice(1));
  });
});

describe('a look-up by request_id', () => {
  it('shows a notification beside the own document where both are of the same participant', async () => {
    client = await TestClient.start({ processingMs: 0, tellOwnMoves: true });
    await client.control('POST', '/plant', {
      packs: [{ sgtin: pack(1, 7), owner: 'own', place: doc.PLACES.warehouse, series: 'S' }],
    });
    const { documentId, metadata } = await client.process(doc.movePlace([pack(1, 7)]));
    const { json } = await client.get(`/documents/request/${String(metadata['request_id'])}`);
    expect(json).toMatchObject({ total: 2, documents: [{ document_id: documentId }, { doc_type: 629 }] });
  });
});

describe('late_in_list', () => {
  it('hides what we send and what comes in from the lists alone, and for a while', async () => {
    client = await TestClient.start({ processingMs: 0 });
    for (const method of ['send', 'list_incoming'])
      await client.control('POST', '/faults', { fault: 'late_in_list', method, value: 30_000 });
    const sent = (await client.send(doc.accept([pack(1)]))).json.document_id as string;
    const came = await incoming();
    await client.advance(10_000);
    expect([await list(), await list(`?document_ids=${sent}`), await list('', 'income')]).toEqual([[], [], []]);
    expect((await client.get(`/documents/${sent}`)).json.status).toBe('PROCESSED');
    expect((await client.get(`/documents/${came}`)).status).toBe(200);
    await client.advance(30_000);
    expect([await list(), await list('', 'income')]).toEqual([[sent], [came]]);
  });
});

describe('the status behind which a receipt lies', () => {
  it.each([
    ['by-result', ['FAILED_RESULT_READY', 'FAILED_RESULT_READY', 'PROCESSED', 'PROCESSED']],
    ['processed', ['PROCESSED', 'PROCESSED', 'PROCESSED', 'PROCESSED']],
    ['mixed', ['FAILED_RESULT_READY', 'PROCESSED', 'PROCESSED', 'FAILED_RESULT_READY']],
  ] as const)('is as it was asked for: %s', async (receiptStatus, statuses) => {
    client = await TestClient.start({ receiptStatus, processingMs: 0 });
    const [foreign, own] = [(n: number) => pack(n, 900), (n: number) => pack(n)];
    const xmls = [[foreign(1)], [foreign(2)], [own(3), foreign(3)], [own(4), foreign(4)]].map((ids) => doc.accept(ids));
    const seen = [];
    for (const xml of xmls) seen.push(await client.process(xml));
    expect(seen.map(({ metadata }) => metadata['status'])).toEqual(statuses);
    expect(seen.map(({ result }) => result)).toEqual(['Rejected', 'Rejected', 'Partial', 'Partial']);
  });
});
