import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';

describe.each(['interface-v1', 'mdlp'])('groups under the profile %s', (profile) => {
  let client: TestClient;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-groups-'));
    client = await TestClient.start({ profile, dataDir: folder });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function send(xml: string, account = 'main'): Promise<string> {
    const requestId = randomUUID();
    expect((await client.send(xml, { requestId, account, fields: { bulk_processing: true } })).status).toBe(200);
    return requestId;
  }
  const call = async (path: string, ids: unknown, account = 'main'): Promise<HttpAnswer> =>
    client.post(`/documents/${path}`, { request_ids: ids }, await client.headers(account));
  const truths = async (ids: string[]) =>
    Promise.all(
      ids.map(
        async (id) =>
          (await client.control('GET', `/truth/documents?request_id=${id}`)).json.documents[0] as Record<
            string,
            unknown
          >,
      ),
    );
  const statusOf = async (id: string) => {
    const document = (await client.get(`/documents/request/${id}`)).json.documents[0] as Record<string, unknown>;
    return document[profile === 'mdlp' ? 'doc_status' : 'status'];
  };
  const states = async () =>
    (await client.control('GET', '/truth/groups')).json.groups.map(
      (group: { state: string; members: { state: string }[] }) => [
        group.state,
        ...group.members.map((one) => one.state),
      ],
    );

  it('wait for the start, and are then processed in the order of the list', async () => {
    const ids = [await send(doc.movePlace([pack(1)])), await send(doc.accept([pack(1)]))].reverse();
    await client.advance(60_000);
    expect(await truths(ids)).toMatchObject([
      { status: 'uploading', waits: 'group_start' },
      { status: 'uploading', waits: 'group_start' },
    ]);
    expect((await call('bulk/check', ids)).json).toEqual({ can_start: true });
    expect((await call('bulk', ids)).json.documents.map((one: { request_id: string }) => one.request_id)).toEqual(ids);
    expect(await statusOf(ids[1] as string)).toBe('PROCESSING_DOCUMENT');
    await client.advance(60_000);
    expect(await truths(ids)).toMatchObject([
      { result: 'Accepted', doc_type: 701 },
      { result: 'Accepted', doc_type: 431 },
    ]);
    expect(await client.pack(pack(1))).toMatchObject({ place: doc.PLACES.shop });
    expect(await states()).toEqual([['done', 'concluded', 'concluded']]);
  });

  it('stop at the first error: the members behind it are not processed, not after a restart either', async () => {
    const ids = [
      await send(doc.accept([pack(1)])),
      await send(doc.accept([pack(1, 900)])),
      await send(doc.accept([pack(2)])),
    ];
    await call('bulk', ids);
    await client.advance(600_000);
    const check = async () => {
      expect(await truths(ids)).toMatchObject([
        { result: 'Accepted' },
        { result: 'Rejected' },
        { result: null, waits: 'group_turn', processed_at: null },
      ]);
      expect(await states()).toEqual([['stopped', 'concluded', 'concluded', 'not_processed']]);
      expect(await client.pack(pack(2))).toMatchObject({ touched: false });
    };
    await check();
    expect(await statusOf(ids[2] as string)).toBe('PROCESSING_DOCUMENT');
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder });
    await client.advance(600_000);
    await check();
  });

  it('leave the bytes of what was not processed free to be sent again', async () => {
    const behind = doc.accept([pack(2)]);
    const ids = [await send(doc.accept([pack(1, 900)])), await send(behind)];
    await call('bulk', ids);
    await client.advance(60_000);
    const again = [await send(behind)];
    await call('bulk', again);
    await client.advance(60_000);
    expect(await truths([ids[1] as string, ...again])).toMatchObject([{ result: null }, { result: 'Accepted' }]);
  });

  it('go on after a restart where they stood', async () => {
    const ids = [await send(doc.accept([pack(1)])), await send(doc.movePlace([pack(1)]))];
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder });
    await call('bulk', ids);
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder });
    await client.advance(60_000);
    expect(await truths(ids)).toMatchObject([{ result: 'Accepted' }, { result: 'Accepted' }]);
  });

  it(
    'started without a check that said yes are started, and counted; not after a restart, which may have been ' +
      'checked before it',
    async () => {
      const [a, b] = [await send(doc.accept([pack(1)])), await send(doc.accept([pack(2)]))];
      expect((await call('bulk/check', [b, a])).json).toEqual({ can_start: true });
      expect((await call('bulk', [a, b])).status).toBe(200);
      expect((await client.control('GET', '/violations')).json.byRule).toEqual({ group_unchecked: 1 });
      const before = [await send(doc.accept([pack(3)]))];
      await client.stop();
      client = await TestClient.start({ profile, dataDir: folder });
      expect((await call('bulk', before)).status).toBe(200);
      expect((await client.control('GET', '/violations')).json.count).toBe(0);
    },
  );

  it('cannot be started for a while where misbehaviour has them taken in slowly', async () => {
    const ids = [await send(doc.accept([pack(1)]))];
    await client.control('POST', '/faults', { fault: 'group_not_ready', method: 'group_check', value: 5_000 });
    const no = { can_start: false, error_description: expect.stringContaining('not uploaded yet') };
    expect((await call('bulk/check', ids)).json).toEqual(no);
    expect((await call('bulk/check', ids)).json).toEqual(no);
    expect((await call('bulk', ids)).status).toBe(400);
    await client.advance(5_000);
    expect((await call('bulk/check', ids)).json).toEqual({ can_start: true });
    expect((await call('bulk', ids)).status).toBe(200);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
  });

  it('say why they cannot be started', async () => {
    const [a, b] = [await send(doc.accept([pack(1)])), await send(doc.accept([pack(2)]))];
    const other = await send(doc.accept([pack(3)]), 'north');
    const single = randomUUID();
    await client.send(doc.accept([pack(4)]), { requestId: single });
    const unknown = randomUUID();
    for (const [ids, reason] of [
      [[a, unknown], 'there is no document with this request_id'],
      [[a, other], 'sent by another user'],
      [[a, single], 'not sent with bulk_processing'],
      [[a, a], 'named twice'],
    ] as [string[], string][]) {
      expect((await call('bulk/check', ids)).json).toEqual({
        can_start: false,
        error_description: expect.stringContaining(reason),
      });
      const started = await call('bulk', ids);
      expect([started.status, started.json.error_description]).toEqual([400, expect.stringContaining(reason)]);
    }
    for (const wrong of [undefined, [], 'x', ['x'], [1]]) expect((await call('bulk/check', wrong)).status).toBe(400);
    expect((await call('bulk/check', [a, b])).json).toEqual({ can_start: true });
    expect((await call('bulk', [a, b])).status).toBe(200);
    const again = await call('bulk', [a, b]);
    expect([again.status, again.json.error_description]).toEqual([400, expect.stringContaining('started before')]);
    expect((await client.control('GET', '/violations')).json.count).toBe(0);
  });
});

describe('members that are not in work', () => {
  it('show as processing before the start and as failed behind one in error, where asked for so, after a restart too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-groups-'));
    const started = () => TestClient.start({ groupStatuses: 'other', dataDir: folder });
    let client = await started();
    try {
      const ids = [randomUUID(), randomUUID(), randomUUID()];
      const xmls = [doc.accept([pack(1)]), doc.accept([pack(1, 900)]), doc.accept([pack(2)])];
      for (const [n, requestId] of ids.entries())
        await client.send(xmls[n] as string, { requestId, fields: { bulk_processing: true } });
      const shown = () =>
        Promise.all(
          ids.map(async (id) => {
            const { status, processing_document_status: result } = (await client.get(`/documents/request/${id}`)).json
              .documents[0];
            return [status, result];
          }),
        );
      await client.advance(600_000);
      expect(await shown()).toEqual(ids.map(() => ['PROCESSING_DOCUMENT', 'PROCESSING']));
      const body = { request_ids: ids };
      expect((await client.post('/documents/bulk/check', body, await client.headers())).json).toEqual({
        can_start: true,
      });
      expect((await client.post('/documents/bulk', body, await client.headers())).status).toBe(200);
      await client.advance(600_000);
      const ends = [
        ['PROCESSED', 'ACCEPTED'],
        ['FAILED_RESULT_READY', 'REJECTED'],
        ['FAILED', 'TECH_ERROR'],
      ];
      expect(await shown()).toEqual(ends);
      await client.stop();
      client = await started();
      expect(await shown()).toEqual(ends);
      expect(await client.pack(pack(2))).toMatchObject({ touched: false });
    } finally {
      await client.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('a partial result in a group', () => {
  it.each([
    [true, 'stopped', null],
    [false, 'done', 'Accepted'],
  ])('with partialStopsGroup %s leaves it %s', async (partialStopsGroup, state, result) => {
    const client = await TestClient.start({ partialStopsGroup });
    try {
      const ids = [randomUUID(), randomUUID()];
      await client.send(doc.accept([pack(1), pack(1, 900)]), {
        requestId: ids[0] as string,
        fields: { bulk_processing: 'true' },
      });
      await client.send(doc.movePlace([pack(1)]), { requestId: ids[1] as string, fields: { bulk_processing: true } });
      expect((await client.post('/documents/bulk', { request_ids: ids }, await client.headers())).status).toBe(200);
      await client.advance(60_000);
      expect((await client.control('GET', '/truth/groups')).json.groups).toMatchObject([{ state }]);
      expect((await client.control('GET', `/truth/documents?request_id=${ids[1]}`)).json.documents).toMatchObject([
        { result },
      ]);
    } finally {
      await client.stop();
    }
  });
});
