import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { walkLog, type GetFile } from '../../../../test/support/log-walker.js';
import type { RecordedEvent } from '#event-store';
import { canonicalBytes, sha256Hex } from '#kernel';
import { leafOf } from '#proofs';
import type { ServiceLog } from '#service';
import { newestCheckpoint } from '#sealed-log';
import { AuditedLog, ORIGIN, type TestAuditor } from '../../test/audited-log.js';
import { exportLog, type Exported } from './export.js';
import { serveLog } from './serve.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as ServiceLog;

let log: AuditedLog;
let auditor: TestAuditor;
let folder: string;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  folder = join(log.place.path, 'exported');
});
afterEach(() => log.close());

async function signed(count: number): Promise<void> {
  await log.write(count);
  await auditor.seal();
  await auditor.watch.sign();
}

const source = () => ({ pool: log.db.pool, store: log.store });
const exported = (to = folder, progress: (leaves: number) => void = () => undefined): Promise<Exported> =>
  exportLog({ ...source(), folder: to, progress });

const inFolder =
  (place: string): GetFile =>
  (path) =>
    readFile(join(place, path)).catch(() => undefined);

/** Serves the log while `look` runs. */
async function whileServed(token: string | undefined, look: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(serveLog({ source: source(), token, log: silent }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await look(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const overHttp =
  (url: string): GetFile =>
  async (path) => {
    const response = await fetch(`${url}/${path}`);
    return response.status === 200 ? Buffer.from(await response.arrayBuffer()) : undefined;
  };

describe('the whole log as static files', () => {
  it('leads a stranger from the entries to the signed root, over HTTP and in a folder, as it grows', async () => {
    for (const count of [1, 254, 1, 1, 255, 188]) {
      await signed(count);
      const newest = await newestCheckpoint(log.db.pool);
      await exported();
      const walked = await walkLog(inFolder(folder));
      expect(walked).toMatchObject({ origin: ORIGIN, size: newest?.size, root: newest?.root });
      expect(JSON.parse(walked.entries.at(-1)?.toString('utf8') ?? '')).toMatchObject({ type: 'ThingHappened' });
      await whileServed(undefined, async (url) => {
        expect(await walkLog(overHttp(url))).toEqual(walked);
      });
    }
  });

  it('is not what a stranger takes for it where any file of it is another', async () => {
    await signed(300);
    await exported();
    for (const path of ['checkpoint', 'tile/0/000', 'tile/0/001.p/44', 'tile/1/000.p/1', 'tile/entries/001.p/44']) {
      const bytes = await readFile(join(folder, path));
      const changed = Buffer.from(bytes);
      const at = path === 'checkpoint' ? bytes.indexOf('\n') + 6 : bytes.length - 3;
      changed[at] = (changed[at] ?? 0) ^ 1;
      await writeFile(join(folder, path), changed);
      await expect(walkLog(inFolder(folder))).rejects.toThrow();
      await writeFile(join(folder, path), bytes);
    }
    expect((await walkLog(inFolder(folder))).size).toBe(300);
  });

  it('has data and metadata of each event beside its bundle, as its entry names them by digest, of any length', async () => {
    await signed(3);
    const text = 'x'.repeat(70_000);
    await log.append('large', [{ text }]);
    await auditor.seal();
    await auditor.watch.sign();
    expect(await exported()).toMatchObject({ size: 4, large: [] });
    const { entries } = await walkLog(inFolder(folder));
    const file = await readFile(join(folder, 'events/000.p/4'), 'utf8');
    const lines = file.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    for (const [leaf, line] of lines.entries()) {
      const parts = JSON.parse(line) as { leaf: number; data: object; metadata: object };
      expect(parts.leaf).toBe(leaf);
      expect(JSON.parse((entries[leaf] as Buffer).toString('utf8'))).toMatchObject({
        format: 'pedigree-leaf/2',
        dataSha256: sha256Hex(canonicalBytes(parts.data)),
        metadataSha256: sha256Hex(canonicalBytes(parts.metadata)),
      });
    }
    expect(JSON.parse(lines[3] as string)).toMatchObject({ data: { text } });
    await whileServed(undefined, async (url) => {
      expect((await overHttp(url)('events/000.p/4'))?.toString('utf8')).toBe(file);
    });
  });

  it('has an event of the older form that fits no bundle beside it, whole, and says which', async () => {
    await signed(3);
    const text = 'x'.repeat(70_000);
    await log.append('large', [{ text }]);
    await log.sealOldForm();
    await auditor.watch.sign();
    expect(await exported()).toMatchObject({ size: 4, large: [3] });
    await expect(walkLog(inFolder(folder))).rejects.toThrow('tile/0/000.p/4 is not what the entries lead to');
    const whole = await readFile(join(folder, 'large-entry/3'));
    expect(JSON.parse(whole.toString('utf8'))).toMatchObject({ stream: 'large', data: { text } });
    await whileServed(undefined, async (url) => {
      expect(await overHttp(url)('large-entry/3')).toEqual(whole);
      for (const path of ['large-entry/2', 'large-entry/4', 'large-entry/03'])
        expect(await overHttp(url)(path)).toBeUndefined();
    });
  });
});

describe('an export', () => {
  it('that was cut off goes on where it ended, and writes nothing twice', async () => {
    await signed(700);
    const cut = exported(folder, (leaves) => {
      if (leaves === 512) throw new Error('the process dies here');
    });
    await expect(cut).rejects.toThrow('dies here');
    expect(await readdir(folder)).not.toContain('checkpoint');
    const before = (await stat(join(folder, 'tile/entries/001'))).mtimeMs;
    expect(await exported()).toMatchObject({ size: 700, written: 188 });
    expect((await stat(join(folder, 'tile/entries/001'))).mtimeMs).toBe(before);
    await signed(100);
    expect(await exported()).toMatchObject({ size: 800, written: 256 + 32 });
    // A bundle that was taken away comes back.
    await rm(join(folder, 'tile/entries/000'));
    expect(await exported()).toMatchObject({ size: 800, written: 256 });
    expect((await walkLog(inFolder(folder))).size).toBe(800);
  });

  it('ends where an event or a hash is not what was signed, and names it', async () => {
    await signed(700);
    await log.db.pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 300`);
    await expect(exported()).rejects.toThrow('leaf 299 is not the event that was sealed');
    await whileServed(undefined, async (url) => {
      const response = await fetch(`${url}/tile/entries/001`);
      expect([response.status, await response.text()]).toEqual([
        500,
        'the log contradicts what was signed: leaf 299 is not the event that was sealed\n',
      ]);
    });
    await log.db.pool.query(
      'UPDATE audit_tile SET hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1) WHERE level = 1 AND index = 0',
    );
    await expect(exported()).rejects.toThrow(
      /tile 0\/1 is not its hash one level up|does not begin with its checkpoint/,
    );
    expect(await readdir(folder)).not.toContain('checkpoint');
  });

  it('ends where an event was changed together with its leaf, and leaves what an earlier run has written', async () => {
    await signed(700);
    await exported();
    const file = (name: string): Promise<Buffer> => readFile(join(folder, name));
    const names = ['tile/0/000', 'tile/entries/000', 'events/000'];
    const before = await Promise.all(names.map(file));
    await log.db.pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 100`);
    const [event] = (await log.store.readAll(99n, { limit: 1 })).events;
    await log.db.pool.query(
      'UPDATE audit_tile SET hashes = overlay(hashes PLACING $1 FROM 99 * 32 + 1) WHERE level = 0 AND index = 0',
      [leafOf(event as RecordedEvent)],
    );
    const why = 'audit_tile was changed: leaves from 0 on are not those that were signed';
    await expect(exported()).rejects.toThrow(why);
    expect(await Promise.all(names.map(file))).toEqual(before);
    await rm(folder, { recursive: true });
    await expect(exported()).rejects.toThrow(why);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('does not go into the folder of another log, or of one that was rewritten', async () => {
    await signed(300);
    await exported();
    const file = join(folder, 'checkpoint');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(ORIGIN, 'other.example/log'));
    await expect(exported()).rejects.toThrow(/has the log other.example\/log, and this one is pedigree.example\/log/);
    const [, , root = ''] = text.split('\n');
    await writeFile(file, text.replace(root, Buffer.alloc(32).toString('base64')));
    await expect(exported()).rejects.toThrow(/has 300 events with which this log does not begin/);
    await writeFile(file, text.replace('\n300\n', '\n301\n'));
    await expect(exported()).rejects.toThrow(/has 301 events with which this log does not begin/);
  });
});

describe('the port of the log', () => {
  it('gives what the checkpoint covers, by its exact name, and nothing else', async () => {
    await signed(300);
    await log.write(10);
    await auditor.seal();
    await whileServed(undefined, async (url) => {
      const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}/${path}`, { method })).status;
      for (const path of ['checkpoint', 'tile/0/000', 'tile/0/001.p/44', 'tile/0/001.p/7', 'tile/1/000.p/1'])
        expect([path, await statusOf(path)]).toEqual([path, 200]);
      // Sealed and not signed yet; a part of what is full may be asked for.
      for (const path of ['tile/0/001.p/45', 'tile/0/001', 'tile/0/002', 'tile/2/000.p/1', 'tile/0/1', 'x', ''])
        expect([path, await statusOf(path)]).toEqual([path, 404]);
      expect(await statusOf('checkpoint', 'POST')).toBe(405);
      const head = await fetch(`${url}/tile/entries/000`, { method: 'HEAD' });
      expect([head.status, head.headers.get('cache-control')]).toEqual([200, 'private, max-age=31536000, immutable']);
      expect((await fetch(`${url}/checkpoint`)).headers.get('content-type')).toBe('text/plain; charset=utf-8');
    });
  });

  it('wants the token where there is one', async () => {
    await signed(3);
    const token = 'a-token-of-enough-characters';
    await whileServed(token, async (url) => {
      const statusWith = async (authorization?: string) =>
        (await fetch(`${url}/checkpoint`, authorization === undefined ? {} : { headers: { authorization } })).status;
      expect(await statusWith()).toBe(401);
      expect(await statusWith(`Bearer ${token}x`)).toBe(401);
      expect(await statusWith(token)).toBe(401);
      expect(await statusWith(`Bearer ${token}`)).toBe(200);
      expect(await statusWith(`bearer  ${token}`)).toBe(200);
    });
  });
});
