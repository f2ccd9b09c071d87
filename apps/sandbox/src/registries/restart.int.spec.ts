import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs, PLACES } from '../../test/documents.js';
import { list, plant } from '../../test/registries.js';
import { unzipped } from '../../test/unzip.js';

const BOX = '046000000000000017';

describe('the registries after a restart', () => {
  let folder: string;
  let client: TestClient;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-spec-'));
    client = await TestClient.start({ dataDir: folder, processingMs: 0 });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function restart(): Promise<void> {
    await client.stop();
    client = await TestClient.start({ dataDir: folder, processingMs: 0 });
  }

  async function everything(): Promise<unknown> {
    const lists = [
      '/reestr/sgtin/filter',
      '/reestr/sgtin/on_hold',
      '/reestr/paused-circulation-decisions/filter',
      '/reestr/virtual-storage/filter',
      '/reestr/sgtin/kkt/awaiting-withdrawal/filter',
    ];
    const posted = await Promise.all(lists.map(async (path) => sorted((await list(client, path)).json)));
    const gets = [
      `/reestr/sgtin/${pack(2)}`,
      `/reestr/sgtin/documents?sgtin=${pack(2)}`,
      `/reestr/sgtin/archive/${pack(1)}`,
      `/reestr/sscc/${BOX}/full-hierarchy`,
      '/data/export/results',
    ];
    const read = await Promise.all(gets.map(async (path) => (await client.get(path)).json));
    const archived = (await list(client, '/reestr/sgtin/public/archive/sgtins-by-list', { sgtins: packs(1, 3) })).json;
    return { posted, read, archived };
  }

  const sorted = (json: { entries: { sgtin?: string }[] }) => ({
    ...json,
    entries: json.entries.sort((a, b) => String(a.sgtin).localeCompare(String(b.sgtin))),
  });

  async function exported(): Promise<string> {
    const [result] = (await client.get('/data/export/results')).json.list;
    const response = await fetch(`${client.sandbox.url}/api/v1/data/export/results/${result.result_id}/file`, {
      headers: await client.headers(),
    });
    return unzipped(Buffer.from(await response.arrayBuffer())).text;
  }

  it('are the same: lists, archive, suspensions, units, books, queues and exports', async () => {
    await client.process(doc.accept(packs(1, 5)));
    await client.process(doc.retailSale([{ id: pack(1) }]));
    await client.advanceDays(61);
    await plant(client, { gtin: doc.GTIN, prefix: 'PLANTED', from: 1, count: 2, sscc: BOX });
    const { json: task } = await client.post(
      '/data/export/tasks',
      { report_id: 'GENERAL_REPORT_ON_REMAINING_ITEMS' },
      await client.headers(),
    );
    const { json: deleted } = await client.post(
      '/data/export/tasks',
      { report_id: 'VIRTUAL_WAREHOUSE_REPORT' },
      await client.headers(),
    );
    await client.control('POST', '/suspensions', { gtin: doc.GTIN, batch: 'S000' });
    await client.control('POST', '/awaiting', { kind: 'kkt', sgtin: pack(9), branch: PLACES.warehouse });
    await client.process(doc.withdrawal([pack(3)]));
    await client.advance(60_000);
    const found = (await client.get(`/data/export/results?task_ids=${deleted.task_id}`)).json.list[0];
    await client.http(`${client.sandbox.url}/api/v1/data/export/results/${found.result_id}`, {
      method: 'DELETE',
      headers: await client.headers(),
    });
    const before = { everything: await everything(), file: await exported() };
    expect(before.everything).toMatchObject({
      archived: { failed: 2 },
      posted: [{ total: 6 }, { total: 3 }, { total: 1 }, { total: 1 }, { total: 1 }],
    });
    expect(before.file.split('\r\n')).toHaveLength(8);
    await restart();
    expect({ everything: await everything(), file: await exported() }).toEqual(before);
    expect((await client.get(`/data/export/tasks/${task.task_id}`)).json.current_status).toBe('COMPLETED');
    expect((await client.process(doc.retailSale([{ id: pack(4) }]))).errors).toEqual([`12 ${pack(4)}`]);
  });
});
