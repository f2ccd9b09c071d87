import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs } from '../../test/documents.js';
import { remove } from '../../test/registries.js';
import { unzipped } from '../../test/unzip.js';

describe.each(['interface-v1', 'mdlp'])('asynchronous exports, by %s', (profile) => {
  let client: TestClient;

  beforeEach(async () => {
    client = await TestClient.start({ processingMs: 0, profile, packExportAgeMs: 60_000 });
    await client.process(doc.accept(packs(1, 3)));
    await client.process(doc.retailSale([{ id: pack(3) }]));
  });
  afterEach(() => client.stop());

  const create = async (reportId: string) =>
    client.post('/data/export/tasks', { report_id: reportId, params: {} }, await client.headers());
  const state = async (taskId: string) => (await client.get(`/data/export/tasks/${taskId}`)).json;
  const results = async (query = '') => (await client.get(`/data/export/results${query}`)).json;
  const rows = async (resultId: string) => {
    const response = await fetch(`${client.sandbox.url}/api/v1/data/export/results/${resultId}/file`, {
      headers: await client.headers(),
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip']);
    const { name, text } = unzipped(Buffer.from(await response.arrayBuffer()));
    return { name, lines: text.trimEnd().split('\r\n') };
  };

  /** Orders a report, lets it become ready and reads it. */
  async function report(reportId: string): Promise<string[]> {
    const { json } = await create(reportId);
    await client.advance(60_000);
    const { list } = await results(`?task_ids=${json.task_id}`);
    return (await rows(list[0].result_id)).lines;
  }

  it('are in preparation, then complete, and the file tells the moment of the order', async () => {
    const { json } = await create('GENERAL_REPORT_ON_REMAINING_ITEMS');
    expect(await state(json.task_id)).toEqual({ current_status: 'PREPARATION' });
    expect(await results()).toEqual({ list: [], total_count: 0 });
    await client.process(doc.retailSale([{ id: pack(1) }]));
    await client.advance(60_000);
    expect(await state(json.task_id)).toEqual({ current_status: 'COMPLETED' });
    const { list, total_count } = await results();
    expect([total_count, list]).toMatchObject([
      1,
      [{ task_id: json.task_id, available: 'AVAILABLE', download_status: 'SUCCESS' }],
    ]);
    const { name, lines } = await rows(list[0].result_id);
    expect([name, lines[0]]).toEqual([
      'GENERAL_REPORT_ON_REMAINING_ITEMS.csv',
      'sgtin,gtin,sell_name,batch,expiration_date,status,status_date,branch_id,sscc',
    ]);
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 6))).toEqual(
      [1, 2].map((n) => [
        pack(n),
        doc.GTIN,
        'Paracetamol-A 500 mg N20',
        'S000',
        '2028-12-31T00:00:00Z',
        'in_circulation',
      ]),
    );
  });

  it('report disposals, movements and the virtual storage', async () => {
    expect((await report('GENERAL_REPORT_ON_DISPOSAL')).slice(1).map((line) => line.split(',')[0])).toEqual([pack(3)]);
    const movements = (await report('GENERAL_REPORT_ON_MOVEMENT')).slice(1).map((line) => line.split(','));
    expect(movements.map(([sgtin, , , docType]) => `${sgtin} ${docType}`)).toEqual([
      `${pack(1)} 701`,
      `${pack(2)} 701`,
      `${pack(3)} 511`,
      `${pack(3)} 701`,
    ]);
    expect((await report('VIRTUAL_WAREHOUSE_REPORT'))[1]).toBe(`00000000100101,${doc.GTIN},0,3,1,1,0,0,0,0,0,3,0,2`);
  });

  it('fail when there is nothing to report from, and refuse what nobody knows', async () => {
    const { json } = await create('GENERAL_PRICING_REPORT');
    await client.advance(60_000);
    expect(await state(json.task_id)).toEqual({
      current_status: 'FAILED',
      error_message: 'the sandbox keeps no prices',
    });
    const { list } = await results();
    expect(list).toMatchObject([{ available: 'NOT_AVAILABLE', download_status: 'FAILED' }]);
    expect((await client.get(`/data/export/results/${list[0].result_id}/file`)).status).toBe(404);
    expect((await create('REPORT_ON_THE_WEATHER')).status).toBe(400);
    expect((await client.get('/data/export/tasks/none')).status).toBe(404);
  });

  it('are ten for a user at most, paged, and deleting makes room', async () => {
    for (let n = 0; n < 10; n += 1) expect((await create('VIRTUAL_WAREHOUSE_REPORT')).status).toBe(200);
    expect((await create('VIRTUAL_WAREHOUSE_REPORT')).json.error_description).toContain('10 tasks');
    await client.advance(60_000);
    const pages = [await results('?page=0&size=6'), await results('?page=1&size=6')];
    expect(pages.map((one) => [one.list.length, one.total_count])).toEqual([
      [6, 10],
      [4, 10],
    ]);
    expect(
      new Set(pages.flatMap((one) => one.list.map((result: { result_id: string }) => result.result_id))).size,
    ).toBe(10);
    const { result_id: resultId } = pages[0].list[0];
    expect((await client.get(`/data/export/results/${resultId}/file`, 'north')).status).toBe(404);
    expect((await remove(client, `/data/export/results/${resultId}`)).status).toBe(200);
    expect((await remove(client, `/data/export/results/${resultId}`)).status).toBe(404);
    expect([(await results()).total_count, (await create('VIRTUAL_WAREHOUSE_REPORT')).status]).toEqual([9, 200]);
    expect((await client.get('/data/export/results?size=1001')).status).toBe(400);
  });

  it('tell all packs as they were some time ago, and are listed in whatever state', async () => {
    const headers = await client.headers();
    const search = async (body: object): Promise<string[]> =>
      (await client.post('/data/export/tasks/search', body, headers)).json.list.map(
        (one: { task_id: string }) => one.task_id,
      );
    const young = (await client.post('/export/tasks/sgtins', {}, headers)).json.task_id;
    await client.advance(120_000);
    await client.process(doc.retailSale([{ id: pack(1) }]));
    const old = (await client.post('/export/tasks/sgtins', {}, headers)).json.task_id;
    expect(await search({})).toEqual([old, young]);
    expect(await search({ current_statuses: ['PREPARATION'] })).toEqual([old]);
    expect((await client.post('/data/export/tasks/search', { current_statuses: 'ALL' }, headers)).status).toBe(400);
    await client.advance(60_000);
    const statuses = async (taskId: string) => {
      const { list } = await results(`?task_ids=${taskId}`);
      return (await rows(list[0].result_id)).lines.slice(1).map((line) => line.split(',')[5]);
    };
    // What happened in the minute before the order is not told.
    expect(await statuses(young)).not.toContain('in_sale');
    expect(await statuses(old)).toEqual(['in_circulation', 'in_circulation', 'in_sale']);
  });
});
