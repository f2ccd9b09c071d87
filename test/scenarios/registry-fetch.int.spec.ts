import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { bucketFile, fetchRegistrySide, importSnapshot, listFetches, mappingOf, readSnapshot } from '#reconciliation';
import { PostgresTaskQueue } from '#tasks';
import { fetchRegistry } from '../../apps/cli/src/commands/registry-fetch.js';
import { ownConfig } from '../../apps/cli/src/config.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${`P${String(n).padStart(12, '0')}`}`;
const PLACE = '00000000100101';
const ARCHIVE_MS = 61 * 86_400_000;
const ours = (from: number, count: number, status = 'in_circulation') => ({
  ...{ gtin: GTIN, prefix: 'P', from, count, owner: 'own', place: PLACE, status },
});

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    sandbox: { language: 'en' },
    overrides: { operations: { sgtins: { pageSize: 20 } } },
  });
}, 240_000);
afterAll(() => stack.stop());

/** What the command says, and its status. */
async function fetched(flags: { out: string; way: string; stock?: string }): Promise<number> {
  const quiet = [process.stdout, process.stderr].map((one) => jest.spyOn(one, 'write').mockReturnValue(true));
  const before = { ...process.env };
  Object.assign(process.env, { DATABASE_URL: stack.env['DATABASE_URL'], DATA_DIR: join(stack.folder, 'data') });
  try {
    return await fetchRegistry(ownConfig(), { account: 'main', ...flags });
  } finally {
    process.env = before;
    quiet.forEach((one) => one.mockRestore());
  }
}

async function rowsOf(folder: string) {
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: stack.folder });
  const files = [...Array(16).keys()].map((n) => join(folder, bucketFile(n)));
  try {
    return await duck.rows<{ item: string; answer: string; status: string; place: string; moment: bigint }>(
      `SELECT item, answer, status, place, moment FROM ${parquet(files)} ORDER BY item`,
    );
  } finally {
    await duck.close();
  }
}

async function stockOf(items: string[], name = 'stock'): Promise<string> {
  mkdirSync(join(stack.folder, 'sets'), { recursive: true });
  const path = join(stack.folder, `${name}.ndjson`);
  writeFileSync(path, items.map((item) => `${JSON.stringify({ item })}\n`).join(''));
  const out = join(stack.folder, 'sets', name);
  await importSnapshot({
    ...{ kind: 'stock', path, out, moment: '2026-11-23T08:00:00+03:00', duck: { memoryMb: 200, threads: 1 } },
    confirmed: true,
    mapping: mappingOf({ format: 'ndjson', columns: { item: 'item' } }, 'stock'),
  });
  return out;
}

const violations = async (): Promise<unknown> => (await stack.control<{ byRule: object }>('/violations')).byRule;

describe("the registry's packs", () => {
  it('are fetched by filter and list, from the archive too, within the limits, over a change of workers', async () => {
    await stack.control('/plant', {
      ranges: [
        ours(0, 150),
        ours(500, 2, 'in_sale'),
        { ...ours(600, 2), owner: 'customer-a', place: '00000000300101' },
      ],
    });
    await stack.control('/clock', { advanceMs: ARCHIVE_MS });
    const stock = await stockOf([0, 1, 500, 501, 600, 700].map(sgtin));
    const out = join(stack.folder, 'sets', 'filter');
    const done = fetched({ way: 'filter', stock, out });
    await until('a page', async () => ((await listFetches(stack.db.pool, 1))[0]?.nextPage ?? 0) > 2);
    await stack.worker.stop();
    stack.worker = await startWorker(workerConfig(stack.env));
    expect(await done).toBe(0);
    const rows = await rowsOf(out);
    const by = (answer: string) => rows.filter((one) => one.answer === answer).map(({ item }) => item);
    expect(by('found').filter((item) => item.startsWith(GTIN))).toHaveLength(150);
    expect([by('archived'), by('denied'), by('not_found')]).toEqual([
      [500, 501].map(sgtin),
      [600, 601].slice(0, 1).map(sgtin),
      [sgtin(700)],
    ]);
    expect(await violations()).toEqual({});
  }, 60_000);

  it('by list alone are the same rows for the packs of the stock', async () => {
    const out = join(stack.folder, 'sets', 'list');
    expect(await fetched({ way: 'list', stock: join(stack.folder, 'sets', 'stock'), out })).toBe(0);
    const [list, filter] = await Promise.all([rowsOf(out), rowsOf(join(stack.folder, 'sets', 'filter'))]);
    const told = (rows: typeof list) => rows.map(({ item, answer, status, place }) => [item, answer, status, place]);
    const asked = new Set(list.map(({ item }) => item));
    expect(told(list)).toEqual(told(filter.filter(({ item }) => asked.has(item))));
    expect(list.every(({ moment }) => moment > 0n)).toBe(true);
    const manifest = await readSnapshot(out, 'registry');
    expect(manifest.files.map(({ name }) => name)).toEqual(expect.arrayContaining(['answers.gz', 'answers.ndjson']));
    const { rows } = await stack.db.pool.query('SELECT 1 FROM registry_fetch_page');
    expect(rows).toEqual([]);
  });

  it('in a container of the stock are asked for by the SSCC, and then by name', async () => {
    const box = `04600000000000900${checkDigitOf('04600000000000900')}`;
    const unknown = `04600000000000901${checkDigitOf('04600000000000901')}`;
    const inside = [800, 801].map(sgtin);
    await stack.control('/plant', {
      packs: inside.map((one) => ({ sgtin: one, owner: 'own', place: PLACE, status: 'in_circulation', sscc: box })),
    });
    const stock = await stockOf([box, unknown], 'boxes');
    const queue = new PostgresTaskQueue({ pool: stack.db.pool });
    const out = join(stack.folder, 'sets', 'of-boxes');
    const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
    try {
      const { calls, containers } = await fetchRegistrySide(
        {
          ...{ fetchId: randomUUID(), account: 'main', way: 'list', reason: 'spec', actor, expected: null, out },
          ...{ of: { stock }, containers: { places: null, most: 10 } },
        },
        {
          ...{ pool: stack.db.pool, duck: { memoryMb: 200, threads: 1 } },
          schedule: (tx, tasks) => queue.schedule(tx, tasks),
        },
      );
      expect([calls, containers]).toEqual([3, 2]);
    } finally {
      await queue.close();
    }
    const told = (await rowsOf(out)).map(({ item, answer, status }) => [item, answer, status]);
    expect(told).toEqual([
      [box, 'found', null],
      [unknown, 'not_found', null],
      ...inside.map((item) => [item, 'found', 'in_circulation']),
    ]);
    expect(await violations()).toEqual({});
  }, 60_000);
});
