import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { StockUploaded } from '#domain';
import type { Actor } from '#event-store';
import { PedigreeError, sha256Hex, VirtualClock } from '#kernel';
import { momentOfUpload } from '#reconciliation';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { makeKey } from '../../test/keys.js';
import { TestHarness } from '../../test/test-harness.js';
import { PART_BYTES } from '../api/body-limits.js';
import { joinParts } from './part-files.js';
import { FINISHED_KEPT_DAYS, OPEN_KEPT_HOURS, StockUploads, type StockFile } from './stock-uploads.js';

const ANNA: Actor = { kind: 'person', name: 'anna', authenticatedBy: 'loopback' };
const HOUR_MS = 3_600_000;
const PART = 10;
const CONTENT = Buffer.from('item\n04600000000015ABCDE00100001\nthe end of it');
const fileOf = (content: Buffer, name = 'stock.csv'): StockFile => ({
  ...{ name, bytes: content.length, sha256: sha256Hex(content), moment: null },
});
const FILE = fileOf(CONTENT);
const NAME = `stock-${FILE.sha256.slice(0, 16)}.csv`;
const part = (n: number, content = CONTENT) => {
  const bytes = content.subarray((n - 1) * PART, n * PART);
  return { bytes, sha256: sha256Hex(bytes) };
};

let at: TemporaryFolder;
let clock: VirtualClock;
let recorded: { data: StockUploaded['data']; by: string; seen: string[] }[];
let logIsAway: boolean;
beforeEach(async () => {
  at = await temporaryFolder();
  clock = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
  [recorded, logIsAway] = [[], false];
});
afterEach(() => at.remove());

const record = async (data: StockUploaded['data'], { name }: Actor): Promise<void> => {
  if (logIsAway) throw new PedigreeError('unavailable', 'the event log is away');
  recorded.push({ data, by: name, seen: seen() });
};
/** Each is a gateway of its own: nothing but the folder is between them. */
const gateway = (limits: object = {}, folder: string | undefined = at.path): StockUploads =>
  new StockUploads({
    ...{ folder, clock, record, log: { info: () => undefined, warn: () => undefined } },
    limits: { partBytes: PART, ...limits },
  });
/** What the reconciler sees: it looks at files alone. */
const seen = (): string[] =>
  readdirSync(at.path, { withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []));
async function begun(...parts: number[]): Promise<string> {
  const { uploadId } = await gateway().begin(FILE, ANNA);
  for (const n of parts) await gateway().put(uploadId, n, part(n));
  return uploadId;
}

describe('an upload in parts', () => {
  it('takes them in any order and twice, goes on after a restart, and becomes one whole file', async () => {
    const id = await begun(5, 1, 3, 3);
    const again = await gateway().begin(FILE, ANNA);
    expect(again).toMatchObject({ uploadId: id, state: 'open', parts: 5, partBytes: PART, missing: [2, 4] });
    expect(again).toMatchObject({ received: [1, 3, 5].map((n) => ({ n, sha256: part(n).sha256 })) });
    await expect(gateway().finish(id, ANNA)).rejects.toMatchObject({
      ...{ code: 'upload_conflict', message: '2 parts are missing: 2, 4' },
    });
    expect(seen()).toEqual([]);
    for (const n of [4, 2]) await gateway().put(id, n, part(n));
    const finished = await gateway().finish(id, ANNA);
    expect(finished).toMatchObject({ state: 'finished', file: NAME, finishedBy: 'anna' });
    expect([seen(), readFileSync(join(at.path, NAME))]).toEqual([[NAME], CONTENT]);
    expect(readdirSync(join(at.path, '.uploads', 'open'))).toEqual([]);
  });

  it('that is finished is answered as before, also when the file was taken away since', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    const finished = await gateway().finish(id, ANNA);
    rmSync(join(at.path, NAME));
    clock.advance(HOUR_MS);
    expect(await gateway().finish(id, { ...ANNA, name: 'boris' })).toEqual(finished);
    expect(await gateway().begin(FILE, ANNA)).toEqual(finished);
    await gateway().put(id, 1, part(1));
    expect([await gateway().one(id), seen()]).toEqual([finished, []]);
  });

  it('is recorded before anybody sees it: who, which file, its digest and its lines', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    logIsAway = true;
    await expect(gateway().finish(id, ANNA)).rejects.toMatchObject({ code: 'unavailable' });
    expect(seen()).toEqual([]);
    logIsAway = false;
    await gateway().finish(id, { ...ANNA, name: 'boris' });
    const data = {
      ...{ uploadId: id, name: 'stock.csv', file: NAME, byteLength: CONTENT.length, fileSha256: FILE.sha256, lines: 2 },
      ...{ openedAt: '2026-11-23T12:00:00.000Z', openedBy: 'anna' },
    };
    expect(recorded).toEqual([{ data, by: 'boris', seen: [] }]);
  });

  it('has the moment that its sender says', async () => {
    const file = { ...FILE, moment: '2026-11-22T20:00:00.000Z' };
    const { uploadId } = await gateway().begin(file, ANNA);
    for (const n of [1, 2, 3, 4, 5]) await gateway().put(uploadId, n, part(n));
    await gateway().finish(uploadId, ANNA);
    const named = NAME.replace('stock-', 'stock-20261122T200000000Z-');
    expect([seen(), statSync(join(at.path, named)).mtime.toISOString()]).toEqual([[named], file.moment]);
  });

  it('of a moment that is to come is refused', async () => {
    const moment = new Date(clock.now().getTime() + 25 * 3_600_000).toISOString();
    const begun = gateway().begin({ ...FILE, moment }, ANNA);
    await expect(begun).rejects.toMatchObject({ code: 'invalid_command', place: { field: '/moment', item: moment } });
    expect(existsSync(join(at.path, '.uploads', 'open'))).toBe(false);
  });

  it('of the same stock at a later moment is a file of its own', async () => {
    const moments = [null, '2026-11-22T20:00:00.000Z', '2026-11-23T20:00:00.000Z'];
    for (const moment of moments) {
      const { uploadId } = await gateway().begin({ ...FILE, moment }, ANNA);
      for (const n of [1, 2, 3, 4, 5]) await gateway().put(uploadId, n, part(n));
      const { sha256 } = FILE;
      const ended = await gateway().finish(uploadId, ANNA);
      const file = ended.state === 'finished' ? ended.file : '';
      expect([momentOfUpload(file, sha256), readFileSync(join(at.path, file))]).toEqual([moment ?? undefined, CONTENT]);
    }
    expect(seen()).toHaveLength(3);
  });

  it('refuses a part of another length, of another digest, and one that there is not; nothing of it is kept', async () => {
    const id = await begun(1);
    const other = Buffer.from('0123456789');
    const refused = (n: number, bytes: Buffer, sha256: string) => gateway().put(id, n, { bytes, sha256 });
    await expect(refused(2, other, part(2).sha256)).rejects.toMatchObject({ place: { field: 'Content-Digest' } });
    await expect(refused(5, other, sha256Hex(other))).rejects.toMatchObject({ place: { field: 'Content-Length' } });
    await expect(refused(6, other, sha256Hex(other))).rejects.toMatchObject({ place: { field: 'n' } });
    expect(await gateway().one(id)).toMatchObject({ missing: [2, 3, 4, 5] });
  });

  it('of other content than was said gives no file; the part that differs is sent again', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    const bytes = Buffer.from('0123456789');
    await gateway().put(id, 2, { bytes, sha256: sha256Hex(bytes) });
    await expect(gateway().finish(id, ANNA)).rejects.toMatchObject({ code: 'upload_conflict', place: { item: id } });
    expect([seen(), readdirSync(join(at.path, '.uploads', 'open', id)).filter((one) => /whole/.test(one))]).toEqual([
      [],
      [],
    ]);
    expect(await gateway().one(id)).toMatchObject({ received: { 1: { n: 2, sha256: sha256Hex(bytes) } } });
    await gateway().put(id, 2, part(2));
    expect(await gateway().finish(id, ANNA)).toMatchObject({ state: 'finished' });
    expect(readFileSync(join(at.path, NAME))).toEqual(CONTENT);
  });

  it('names a part that the disk has changed, and wants it again', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    const file = join(at.path, '.uploads', 'open', id, '4.part');
    const kept = readFileSync(file);
    kept[35] = (kept[35] as number) ^ 1;
    writeFileSync(file, kept);
    await expect(gateway().finish(id, ANNA)).rejects.toThrow('part 4 has changed on the disk');
    expect(await gateway().one(id)).toMatchObject({ missing: [4] });
  });

  it('by two clients at once becomes one file, at one gateway and at two', async () => {
    const [one, other] = [gateway(), gateway()];
    const ids = await Promise.all([one, one, other].map((each) => each.begin(FILE, ANNA)));
    const id = ids[0]?.uploadId as string;
    expect(new Set(ids.map(({ uploadId }) => uploadId)).size).toBe(1);
    const all = [1, 2, 3, 4, 5].flatMap((n) => [one, other].map((each) => each.put(id, n, part(n))));
    await Promise.all(all);
    const under = [one, one, other].map((each) => each.finish(id, ANNA));
    expect(under[0]).toBe(under[1]);
    const ended = await Promise.allSettled(under);
    for (const end of ended) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'unavailable' });
    expect(ended.map(({ status }) => status)).toContain('fulfilled');
    expect(await other.finish(id, ANNA)).toMatchObject({ state: 'finished', file: NAME });
    expect([seen(), readFileSync(join(at.path, NAME))]).toEqual([[NAME], CONTENT]);
  });
});

describe('a crash', () => {
  it('before the rename leaves no file, and the upload is finished later', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    await joinParts(join(at.path, '.uploads', 'open', id), 5, join(at.path, '.uploads', 'open', id, 'whole.abc'));
    expect([seen(), (await gateway().begin(FILE, ANNA)).state]).toEqual([[], 'open']);
    expect(await gateway().finish(id, ANNA)).toMatchObject({ state: 'finished' });
    expect(readFileSync(join(at.path, NAME))).toEqual(CONTENT);
  });

  it('behind the rename leaves the file as it is', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    writeFileSync(join(at.path, NAME), CONTENT);
    const before = statSync(join(at.path, NAME));
    expect(await gateway().finish(id, ANNA)).toMatchObject({ state: 'finished', file: NAME });
    expect(recorded).toMatchObject([{ by: 'anna', data: { uploadId: id, file: NAME } }]);
    expect([statSync(join(at.path, NAME)).ino, statSync(join(at.path, NAME)).ctimeMs]).toEqual([
      before.ino,
      before.ctimeMs,
    ]);
  });

  it('behind the note that it is finished leaves parts that a sweep removes', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    const open = join(at.path, '.uploads', 'open', id);
    renameSync(open, `${open}-kept`);
    mkdirSync(open);
    for (const name of readdirSync(`${open}-kept`))
      writeFileSync(join(open, name), readFileSync(join(`${open}-kept`, name)));
    const finished = await gateway().finish(id, ANNA);
    renameSync(`${open}-kept`, open);
    expect(await gateway().one(id)).toEqual(finished);
    await gateway().sweep();
    expect(readdirSync(join(at.path, '.uploads', 'open'))).toEqual([]);
  });

  it('while a part was written leaves that part missing', async () => {
    const id = await begun(1);
    writeFileSync(join(at.path, '.uploads', 'open', id, '2.part.0123456789ab'), 'half of it');
    expect(await gateway().one(id)).toMatchObject({ missing: [2, 3, 4, 5] });
  });
});

describe('limits', () => {
  it('of length and of open uploads are said; an open one goes on all the same', async () => {
    const small = gateway({ mostFileBytes: CONTENT.length, mostOpen: 1 });
    const long = fileOf(Buffer.concat([CONTENT, Buffer.from('x')]));
    await expect(small.begin(long, ANNA)).rejects.toThrow(/^\/bytes: a stock file has at most 46 bytes$/);
    const { uploadId } = await small.begin(FILE, ANNA);
    await expect(small.begin(fileOf(CONTENT, 'other.csv'), ANNA)).rejects.toMatchObject({ code: 'backlog_full' });
    expect((await small.begin(FILE, ANNA)).uploadId).toBe(uploadId);
  });

  it('of age removes what is not finished, and not a moment earlier', async () => {
    const id = await begun(1, 2);
    clock.advance(OPEN_KEPT_HOURS * HOUR_MS - 1);
    await gateway().sweep();
    expect(await gateway().one(id)).toMatchObject({ missing: [3, 4, 5] });
    clock.advance(1);
    await gateway().sweep();
    await expect(gateway().one(id)).rejects.toMatchObject({ code: 'not_found', place: { item: id } });
    expect(readdirSync(join(at.path, '.uploads', 'open'))).toEqual([]);
  });

  it('of age lets a finished one be forgotten, and not a moment earlier', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    await gateway().finish(id, ANNA);
    clock.advance(FINISHED_KEPT_DAYS * 24 * HOUR_MS - 1);
    await gateway().sweep();
    expect(await gateway().one(id)).toMatchObject({ state: 'finished' });
    clock.advance(1);
    await gateway().sweep();
    await expect(gateway().one(id)).rejects.toMatchObject({ code: 'not_found' });
    expect([readdirSync(join(at.path, '.uploads', 'finished')), seen()]).toEqual([[], [NAME]]);
  });

  it('of age removes what a crash left beside, and nothing that cannot be read keeps the sweep from the others', async () => {
    await gateway().begin(fileOf(CONTENT, 'other.csv'), ANNA);
    const [open, finished] = ['open', 'finished'].map((one) => join(at.path, '.uploads', one)) as [string, string];
    const unreadable = '00000000-0000-4000-8000-000000000000.json';
    const left = [join(open, '0-of-nobody'), join(finished, `${unreadable}.0123456789ab`)];
    const old = new Date(clock.now().getTime() - OPEN_KEPT_HOURS * HOUR_MS);
    for (const file of [...left, join(finished, unreadable)]) writeFileSync(file, '');
    for (const file of left) utimesSync(file, old, new Date(old.getTime() + 1));
    await expect(gateway().sweep()).rejects.toThrow(/^1 entries cannot be swept: finished\/0{8}-.*\.json \(/);
    expect(left.filter((file) => existsSync(file))).toEqual(left);
    clock.advance(OPEN_KEPT_HOURS * HOUR_MS);
    await expect(gateway().sweep()).rejects.toThrow(/^1 entries/);
    expect([readdirSync(open), readdirSync(finished)]).toEqual([[], [unreadable]]);
  });

  it('that a sweep cannot keep are said as a trouble until it can', async () => {
    const uploads = gateway();
    await uploads.begin(FILE, ANNA);
    const unreadable = join(at.path, '.uploads', 'finished', '00000000-0000-4000-8000-000000000000.json');
    writeFileSync(unreadable, '');
    const ending = new AbortController();
    const watched = uploads.watch(ending.signal);
    const hourLater = async (): Promise<void> => {
      await until('the sweep has ended', () => clock.waiting === 1);
      clock.advance(HOUR_MS);
      await until('the sweep has ended', () => clock.waiting === 1);
    };
    await hourLater();
    expect(uploads.troubles()).toMatchObject([{ name: 'stock-uploads', since: '2026-11-23T12:00:00.000Z' }]);
    rmSync(unreadable);
    await hourLater();
    expect(uploads.troubles()).toEqual([]);
    ending.abort();
    await watched;
  });

  it('without the folder, nothing is made in its place', async () => {
    const away = join(at.path, 'away');
    await expect(gateway({}, away).begin(FILE, ANNA)).rejects.toMatchObject({ code: 'unavailable' });
    expect(seen().concat(readdirSync(at.path))).toEqual([]);
  });

  it('never takes the place of another file', async () => {
    const id = await begun(1, 2, 3, 4, 5);
    writeFileSync(join(at.path, NAME), 'of somebody else');
    await expect(gateway().finish(id, ANNA)).rejects.toMatchObject({ code: 'upload_conflict', place: { item: NAME } });
    expect(readFileSync(join(at.path, NAME), 'utf8')).toBe('of somebody else');
  });
});

describe('over HTTP', () => {
  let harness: TestHarness;
  let folder: TemporaryFolder;
  let stockFolder: string;
  beforeAll(async () => {
    folder = await temporaryFolder();
    stockFolder = folder.path;
    harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { stockFolder });
  });
  afterAll(async () => {
    await harness.stop();
    await folder.remove();
  });
  const content = Buffer.alloc(PART_BYTES + 3, 'stock\n');
  const begin = (more: object = {}) =>
    harness.post(
      { name: 'stock.csv', bytes: content.length, sha256: sha256Hex(content), ...more },
      '/v1/stock-uploads',
    );
  const put = (path: string, bytes: Buffer, headers: Record<string, string> = {}) =>
    harness.ask(path, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        'content-digest': `sha-256=:${Buffer.from(sha256Hex(bytes), 'hex').toString('base64')}:`,
        ...headers,
      },
      body: bytes as never,
    });

  it('a file goes into the folder', async () => {
    const { upload_id: id, missing } = (await begin()).json<{ upload_id: string; missing: number[] }>();
    expect(missing).toEqual([1, 2]);
    const at = `/v1/stock-uploads/${id}`;
    expect((await put(`${at}/parts/2`, content.subarray(PART_BYTES))).status).toBe(204);
    expect((await harness.ask(at)).json()).toMatchObject({ state: 'open', missing: [1] });
    const early = await harness.ask(`${at}/finish`, { method: 'POST' });
    expect([early.status, early.json()['code']]).toEqual([409, 'upload_conflict']);
    expect((await put(`${at}/parts/1`, content.subarray(0, PART_BYTES))).status).toBe(204);
    const { file } = (await harness.ask(`${at}/finish`, { method: 'POST' })).json<{ file: string }>();
    expect(readFileSync(join(stockFolder, file)).equals(content)).toBe(true);
  });

  it.each([
    ['a name with folders', { name: '../stock.csv' }, '/name'],
    ['a name with folders of Windows', { name: '..\\stock.csv' }, '/name'],
    ['a hidden name', { name: '.stock.csv' }, '/name'],
    ['a name of a file that is being written', { name: 'stock.csv.part' }, '/name'],
    ['a name with a NUL', { name: 'stock\u0000.csv' }, '/name'],
    ['a name that no disk takes', { name: `${'ж'.repeat(120)}.csv` }, '/name'],
    ['no bytes', { bytes: 0 }, '/bytes'],
    ['too many bytes', { bytes: 4 * 1024 ** 3 + 1 }, '/bytes'],
    ['a digest that is none', { sha256: 'abc' }, '/sha256'],
  ])('%s is refused, with its place', async (_, more, field) => {
    const answer = await begin(more);
    expect([answer.status, answer.json()['field']]).toEqual([400, field]);
  });

  it('a part that is too large, without digest, or of another type is refused', async () => {
    const { upload_id: id } = (await begin({ name: 'b.csv' })).json<{ upload_id: string }>();
    const path = `/v1/stock-uploads/${id}/parts/1`;
    const codeOf = async (bytes: Buffer, headers: object = {}, to = path) =>
      (await put(to, bytes, { ...headers })).json()['code'];
    expect(await codeOf(Buffer.alloc(PART_BYTES + 1))).toBe('body_too_large');
    expect(await codeOf(content.subarray(0, 5), { 'content-digest': 'md5=:x:' })).toBe('invalid_parameter');
    expect(await codeOf(content.subarray(0, 5), { 'content-type': 'text/plain' })).toBe('unsupported_media_type');
    expect(await codeOf(content.subarray(0, 5), {}, path.replace('parts/1', 'parts/x'))).toBe('invalid_parameter');
    expect(await codeOf(content.subarray(0, 5), {}, path.replace(id, 'x'))).toBe('invalid_parameter');
    const unknown = path.replace(id, '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01');
    expect(await codeOf(content.subarray(0, 5), {}, unknown)).toBe('not_found');
  });

  it('needs its role, and a folder', async () => {
    const bare = await TestHarness.start(await testDatabase(TestHarness.schemas));
    try {
      const body = { name: 'stock.csv', bytes: 1, sha256: sha256Hex('x') };
      const none = await bare.post(body, '/v1/stock-uploads');
      expect([none.status, none.text]).toEqual([404, expect.stringContaining('RECONCILE_STOCK_FOLDER')]);
      const asked = async (role: 'erp' | 'auditor'): Promise<number> => {
        const key = await makeKey(bare.db.pool, role, [role]);
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        return (await bare.ask('/v1/stock-uploads', { method: 'POST', headers, body: JSON.stringify(body) })).status;
      };
      expect([await asked('erp'), await asked('auditor')]).toEqual([404, 403]);
    } finally {
      await bare.stop();
    }
  });
});
