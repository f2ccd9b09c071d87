import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { transformFileSync } from '@swc/core';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

let folder: TemporaryFolder;
let options: EmbeddedPostgresOptions;
let servers: EmbeddedPostgres[];
let children: ChildProcess[];

beforeEach(async () => {
  folder = await temporaryFolder();
  // The server's user must be able to pass, where it is not ours.
  await chmod(folder.path, 0o711);
  options = { dataDir: join(folder.path, 'data'), systemDir: join(folder.path, 'system'), durable: false };
  servers = [];
  children = [];
});
afterEach(async () => {
  for (const child of children) if (child.kill('SIGKILL')) await once(child, 'exit');
  for (const server of servers) await server.stop();
  await folder.remove();
});

async function start(): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(options);
  servers.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Undefined when something listens, else the error code. */
async function refusal(url: string): Promise<string | undefined> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
  }
}

/** Another Node process that starts the server of `options`, prints its answer and stays until it is killed. */
async function startInChild(
  user: { uid?: number; gid?: number } = {},
): Promise<{ child: ChildProcess; answer: { url: string; reused: boolean } }> {
  const program = join(folder.path, 'program');
  await rm(program, { recursive: true, force: true });
  await mkdir(join(program, 'embedded'), { recursive: true });
  for (const file of ['embedded.ts', ...(await readdir(join(HERE, 'embedded'))).map((name) => `embedded/${name}`)]) {
    const { code } = transformFileSync(join(HERE, file), {
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    await writeFile(join(program, file.replace(/\.ts$/, '.js')), code);
  }
  await writeFile(join(program, 'package.json'), '{"type":"module"}');
  await symlink(join(HERE, '../../../node_modules'), join(program, 'node_modules'), 'junction');
  const script = `import { startEmbeddedPostgres } from './embedded.js';
    const { url, reused } = await startEmbeddedPostgres(${JSON.stringify(options)});
    console.log(JSON.stringify({ url, reused }));
    setInterval(() => {}, 1e6);`;
  await writeFile(join(program, 'main.js'), script);
  const child = spawn(process.execPath, ['main.js'], { ...user, cwd: program, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the process ended before its server began')));
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  return { child, answer: JSON.parse(line.toString()) as { url: string; reused: boolean } };
}

describe('the embedded PostgreSQL', () => {
  it('outlives a killed parent, is found again with its rows, and stops when told', async () => {
    delete options.durable;
    const { child, answer } = await startInChild();
    expect(answer.reused).toBe(false);
    await query(answer.url, "CREATE TABLE pack AS SELECT 'here' AS sgtin");
    child.kill('SIGKILL');
    await once(child, 'exit');

    const server = await start();
    expect(server).toMatchObject({ reused: true, url: answer.url });
    expect(await query(server.url, 'SELECT sgtin FROM pack')).toEqual([{ sgtin: 'here' }]);
    await server.stop();
    expect(await refusal(server.url)).toBe('ECONNREFUSED');

    const again = await start();
    expect(again.reused).toBe(false);
    expect(await query(again.url, 'SELECT sgtin FROM pack')).toEqual([{ sgtin: 'here' }]);
  });

  it('is started once by starters that come together', async () => {
    const found = await Promise.all([start(), start(), start()]);
    expect(found.map((server) => server.reused).sort()).toEqual([false, true, true]);
    expect(new Set(found.map((server) => server.url)).size).toBe(1);
  });

  it('is stopped by the last that leaves it, whoever started it, and a killed one has left', async () => {
    const { child } = await startInChild();
    const second = await start();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const third = await start();
    await second.leave();
    expect(await refusal(third.url)).toBeUndefined();
    await third.leave();
    expect(await refusal(third.url)).toBe('ECONNREFUSED');
  });

  it('stays where a process was killed that alone had used it, and another came and left', async () => {
    const { child: another } = await startInChild();
    another.kill('SIGKILL');
    await once(another, 'exit');
    const found = await start();
    await found.leave();
    expect(await refusal(found.url)).toBeUndefined();
  });

  it('stays then also where two came and left together', async () => {
    const { child: another } = await startInChild();
    another.kill('SIGKILL');
    await once(another, 'exit');
    const found = [await start(), await start()];
    for (const one of found) await one.leave();
    expect(await refusal((found[0] as EmbeddedPostgres).url)).toBeUndefined();
  });

  it('is not started where nobody could tell that it is used', async () => {
    await mkdir(options.dataDir);
    await writeFile(join(options.dataDir, 'uses'), '');
    await expect(start()).rejects.toThrow();
    await rm(join(options.dataDir, 'uses'));
    expect((await start()).reused).toBe(false);
  });

  (isRoot ? it : it.skip)('of a user is left to him where root has used it meanwhile', async () => {
    await mkdir(options.dataDir);
    await chown(options.dataDir, NOBODY.uid, NOBODY.gid);
    await startInChild(NOBODY);
    // As an older version left it.
    await rm(join(options.dataDir, 'uses'), { recursive: true });
    await (await start()).leave();
    const { answer } = await startInChild(NOBODY);
    expect(answer.reused).toBe(true);
  });

  it('waits for the disk, listens on loopback behind a password, and speaks UTF-8', async () => {
    delete options.durable;
    const server = await start();
    const names = [
      'fsync',
      'full_page_writes',
      'synchronous_commit',
      'listen_addresses',
      'unix_socket_directories',
      'server_encoding',
      'password_encryption',
      'scram_iterations',
    ];
    const [row] = await query(
      server.url,
      `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`,
    );
    expect(row).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      server_encoding: 'UTF8',
      password_encryption: 'scram-sha-256',
      scram_iterations: '4096',
    });
    const [first] = await query(server.url, 'SELECT rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL');
    expect(first).toEqual({ rolpassword: expect.stringMatching(/^SCRAM-SHA-256\$1:/) });
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(options.dataDir, 'password'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(options.dataDir, 'postgres.log'), 'utf8')).toMatch(/ready to accept connections/);
  });

  it('begins anew when the data folder was removed, and refuses when only the cluster was', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE pack (id int)');
    await first.stop();
    await rename(join(options.dataDir, 'cluster'), join(folder.path, 'moved'));
    await expect(start()).rejects.toThrow(/the database of .* is gone/);
    await rm(options.dataDir, { recursive: true });
    const second = await start();
    expect(await query(second.url, "SELECT to_regclass('pack') AS pack")).toEqual([{ pack: null }]);
  });

  it.each([
    ['is gone', (file: string) => rm(file)],
    ['is empty', (file: string) => writeFile(file, '')],
    ['cannot be read', (file: string) => rm(file).then(() => mkdir(file))],
  ])('says at once when the password of its cluster %s, and makes no other', async (_, lose) => {
    const first = await start();
    await first.stop();
    const file = join(options.dataDir, 'password');
    const password = await readFile(file, 'utf8');
    await lose(file);
    await expect(start()).rejects.toThrow(/password/);
    await rm(file, { recursive: true, force: true });
    await writeFile(file, password);
    expect((await start()).reused).toBe(false);
  });

  it.each([
    ['empty', ''],
    ['cut off', '{"directory":'],
    ['of another form', '{"ready":true}'],
  ])('names the note of where its cluster lies when that is %s, and begins no other', async (_, text) => {
    const first = await start();
    await first.stop();
    const file = join(options.dataDir, 'cluster.json');
    const note = await readFile(file, 'utf8');
    await writeFile(file, text);
    await expect(start()).rejects.toThrow(/cluster\.json .*is damaged/);
    await writeFile(file, note);
    expect((await start()).reused).toBe(false);
  });

  it('starts over the process number of a dead server that another program has now', async () => {
    const first = await start();
    const pidFile = join(options.dataDir, 'cluster', 'postmaster.pid');
    const lines = (await readFile(pidFile, 'utf8')).split('\n');
    await first.stop();
    await writeFile(pidFile, [String(process.pid), ...lines.slice(1)].join('\n'));
    expect((await start()).reused).toBe(false);
  });

  it('starts over the process number of a dead server that the server of another folder has now', async () => {
    const other = await startEmbeddedPostgres({ ...options, dataDir: join(folder.path, 'other') });
    servers.push(other);
    const first = await start();
    const [pidFile, otherPidFile] = ['data', 'other'].map((name) =>
      join(folder.path, name, 'cluster', 'postmaster.pid'),
    ) as [string, string];
    const lines = (await readFile(pidFile, 'utf8')).split('\n');
    await first.stop();
    const [otherPid] = (await readFile(otherPidFile, 'utf8')).split('\n');
    await writeFile(pidFile, [otherPid, ...lines.slice(1)].join('\n'));
    expect((await start()).reused).toBe(false);
    expect(await query(other.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('tells the end of the server log when the server does not start', async () => {
    options.settings = { shared_buffers: 'plenty' };
    await expect(start()).rejects.toThrow(/did not start \(exit 1\):[^]*invalid value for parameter "shared_buffers"/);
  });

  (isRoot ? it : it.skip)(
    'as root keeps the cluster in a system folder when the server cannot enter the data folder',
    async () => {
      await mkdir(options.dataDir, { mode: 0o700 });
      const first = await start();
      await query(first.url, 'CREATE TABLE pack (id int)');
      const [{ directory }] = (await query(first.url, "SELECT current_setting('data_directory') AS directory")) as [
        { directory: string },
      ];
      expect(directory.startsWith(`${options.systemDir ?? ''}/`)).toBe(true);
      expect((await stat(directory)).uid).not.toBe(0);
      await first.stop();

      const second = await start();
      expect(await query(second.url, "SELECT to_regclass('pack')::text AS pack")).toEqual([{ pack: 'pack' }]);
      await second.stop();

      await rm(options.dataDir, { recursive: true });
      await mkdir(options.dataDir, { mode: 0o700 });
      const fresh = await start();
      expect(await query(fresh.url, "SELECT to_regclass('pack')::text AS pack")).toEqual([{ pack: null }]);
    },
  );

  (isRoot ? it : it.skip)('as root begins no other cluster when the note of where it lies cannot be read', async () => {
    await mkdir(options.dataDir, { mode: 0o700 });
    await (await start()).stop();
    const note = join(options.dataDir, 'cluster.json');
    await rename(note, `${note}.kept`);
    await symlink('cluster.json', note);
    await expect(start()).rejects.toThrow(/cluster\.json/);
    await rename(`${note}.kept`, note);
    expect((await readdir(options.systemDir!)).filter((name) => !name.startsWith('postgresql-'))).toHaveLength(1);
  });
});
