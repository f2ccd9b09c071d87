// Left to the soak: a run by programs. `npm test` has stock-runs.int of the reconciler.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { whileLocked } from '#reconciliation';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import { buildPrograms } from './built-programs.js';
import { startStack, type Stack } from './stack.js';
import { reconcileHere, startedReconcile } from './started-reconcile.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}R${String(n).padStart(12, '0')}`;
const PLACE = '00000000100101';

let stack: Stack;
beforeAll(async () => {
  await buildPrograms();
  stack = await startStack({ sandbox: { language: 'en' } });
  const planted = { gtin: GTIN, prefix: 'R', owner: 'own', place: PLACE };
  await stack.control('/plant', {
    ranges: [
      { ...planted, from: 0, count: 6 },
      { ...planted, from: 100, count: 1, status: 'in_sale' },
      { ...planted, from: 200, count: 1, place: '00000000100102' },
    ],
  });
  writeFileSync(
    join(stack.folder, 'stock.csv'),
    ['KM;Branch', ...[0, 1, 2, 3, 100, 200, 300].map((n) => `${sgtin(n)};${PLACE}`), ''].join('\n'),
  );
  writeFileSync(
    join(stack.folder, 'mapping.json'),
    JSON.stringify({ format: 'csv', delimiter: ';', columns: { item: 'KM', place: 'Branch' } }),
  );
}, 600_000);
afterAll(() => stack.stop());

interface Told {
  run: string;
  digest: string;
  counts: Record<string, number>;
  recorded: boolean;
}

const reconcile = (...args: string[]) => reconcileHere(stack, args);

const file = (moment: string): string[] => [
  ...[join(stack.folder, 'stock.csv'), '--mapping', join(stack.folder, 'mapping.json'), '--moment', moment],
  ...['--account', 'main', '--reason', 'the monthly count', '--json'],
];
/** Behind every answer of the registry, so that none is younger than the stock. */
const SOON = new Date(Date.now() + 3_600_000).toISOString();

const listed = async () => {
  const answer = await fetch(`${stack.gateway.url}/v1/reconciliations?limit=10`);
  return ANSWERS.ReconciliationPage.parse(await answer.json()).items;
};

let first: Told;

describe('pedigree reconcile STOCK_FILE', () => {
  it('compares the file with record and registry, and the run stands in the log', async () => {
    const { status, stdout, stderr } = await reconcile(...file(SOON));
    first = JSON.parse(stdout) as Told;
    expect([status, first.recorded]).toEqual([1, true]);
    expect(first.counts).toMatchObject({
      unknown_serial: 1,
      sold_in_registry_in_stock_here: 1,
      owner_or_branch_mismatch: 1,
    });
    expect(stderr).toContain('--resume');
    const [run] = await listed();
    expect(run).toMatchObject({
      id: first.run,
      kind: 'packs',
      packs: { digest: first.digest, counts: first.counts, sides: { stock: { rows: 7 } }, calls: 3 },
    });
  }, 120_000);

  it('shows the run in the list', async () => {
    const { stdout } = await reconcile('runs', '--json');
    const runs = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; state: string; reason: string });
    expect(runs[0]).toMatchObject({ id: first.run, state: 'completed', reason: 'the monthly count' });
  }, 60_000);

  it('gives the same digest again from the same snapshots', async () => {
    const { status, stdout } = await reconcile('--replay', first.run);
    expect([status, stdout]).toEqual([0, `the same digest: ${first.digest}\n`]);
  }, 60_000);

  it('shows the items of a code', async () => {
    const { stdout } = await reconcile('findings', first.run, '--code', 'unknown_serial');
    expect(stdout).toContain(sgtin(300));
    expect(stdout).not.toContain(sgtin(100));
  }, 60_000);

  it('writes the items as CSV, NDJSON and Excel, by filter', async () => {
    const [csv, excel] = ['csv', 'xlsx'].map((ending) => join(stack.folder, `items.${ending}`)) as [string, string];
    await reconcile('findings', first.run, '--severity', 'critical', '--csv', csv);
    const [head, ...lines] = readFileSync(csv, 'utf8').trimEnd().split('\r\n');
    expect(head).toMatch(/^item,code,severity,s_place,/);
    expect(lines.map((line) => line.split(',').slice(0, 3))).toEqual(
      expect.arrayContaining([[sgtin(300), 'unknown_serial', 'critical']]),
    );
    const { stdout } = await reconcile('findings', first.run, '--code', 'unknown_serial', '--ndjson', '-');
    expect(JSON.parse(stdout)).toMatchObject({ item: sgtin(300), s_place: PLACE });
    await reconcile('findings', first.run, '--place', PLACE, '--excel', excel);
    expect(readFileSync(excel).subarray(0, 2).toString()).toBe('PK');
  }, 60_000);

  it('writes a page that tells all of it', async () => {
    const page = join(stack.folder, 'report.html');
    const { status, stdout } = await reconcile('report', first.run, '--out', page);
    expect([status, stdout]).toEqual([0, expect.stringContaining(first.digest)]);
    const text = readFileSync(page, 'utf8').replace(/\s+/g, ' ');
    for (const said of [first.digest, 'the monthly count', 'took 3 calls', 'and so does the log', sgtin(300)])
      expect(text).toContain(said);
    expect(text).toContain(`pedigree reconcile --replay ${first.run}`);
    expect(text).not.toContain('not at hand any more');
  }, 60_000);

  it('goes on after kill -9 where it was, asks the registry nothing twice, and is recorded once', async () => {
    const child = startedReconcile(stack, file(new Date(Date.parse(SOON) + 1).toISOString()));
    let said = '';
    const killed = new Promise<void>((resolve) =>
      child.stderr?.on('data', (text) => {
        said += String(text);
        if (said.includes('our record:')) child.kill('SIGKILL');
        if (child.killed) resolve();
      }),
    );
    await killed;
    await once(child, 'close');
    const runId = /run ([0-9a-f-]{36})/.exec(said)?.[1] ?? '';
    expect((await listed()).map(({ id }) => id)).not.toContain(runId);
    const busy = await whileLocked(stack.db.pool, runId, () => reconcile('--resume', runId, '--json'));
    expect([busy.status, busy.stderr]).toEqual([1, expect.stringContaining('another process is making the run')]);
    const resumed = await reconcile('--resume', runId, '--json');
    expect(JSON.parse(resumed.stdout)).toMatchObject({ run: runId, counts: first.counts, recorded: true });
    await reconcile('--resume', runId, '--json');
    const runs = (await listed()).filter(({ id }) => id === runId);
    expect(runs.map(({ packs }) => packs?.['calls'])).toEqual([3]);
  }, 120_000);

  it('records nothing in a dry run', async () => {
    const { stdout } = await reconcile(...file(new Date(Date.parse(SOON) + 2).toISOString()), '--dry-run');
    const told = JSON.parse(stdout) as Told;
    expect([told.recorded, told.counts]).toEqual([false, first.counts]);
    expect((await listed()).map(({ id }) => id)).not.toContain(told.run);
  }, 120_000);
});

interface Quieted {
  quieted: Record<string, number>;
}

describe('a stock file with bad rows', () => {
  const good = [0, 1, 2, 3, 4, 5].map((n) => `${sgtin(n)};${PLACE}`);
  const write = (name: string, text: string): string => {
    writeFileSync(join(stack.folder, name), text);
    return join(stack.folder, name);
  };
  const run = (path: string, ...more: string[]) =>
    reconcile(
      ...[path, '--mapping', join(stack.folder, 'mapping.json'), '--moment', SOON, '--branch', PLACE],
      ...['--account', 'main', '--way', 'filter', '--reason', 'bad rows', '--json', ...more],
    );

  it('is compared without them, and the run and its page say which kinds were left out', async () => {
    const bad = ['4.60123E+26;x', `"${sgtin(6)};${PLACE}`, `${sgtin(7)}`, `${sgtin(8)};elsewhere`];
    const path = write('bad.csv', `\uFEFF${['KM;Branch', ...good, ...bad, good[0], ''].join('\r\n')}`);
    const { stdout, stderr } = await run(path);
    expect(stderr).toContain('4 rows of the stock were refused, 1 items stand there twice');
    const told = JSON.parse(stdout) as Told;
    expect(told.counts).toMatchObject({ duplicate_locally: 1 });
    expect((await listed())[0]).toMatchObject({ id: told.run, packs: { sides: { stock: { rows: 6 } } } });
    const page = join(stack.folder, 'bad.html');
    await reconcile('report', told.run, '--out', page);
    expect(readFileSync(page, 'utf8')).toMatch(/refused/);
  }, 120_000);

  it('that is empty and of no branch speaks of no place, so nothing is missed', async () => {
    const path = write('nowhere.csv', 'KM;Branch\n');
    const { stdout, stderr } = await reconcile(
      ...[path, '--mapping', join(stack.folder, 'mapping.json'), '--moment', SOON, '--confirm'],
      ...['--account', 'main', '--reason', 'nothing at all', '--json'],
    );
    if (stdout === '') throw new Error(stderr);
    const { counts } = JSON.parse(stdout) as Told;
    expect(counts['missing_locally']).toBeUndefined();
  }, 60_000);

  it.each([
    ['shrunken', ['KM;Branch', good[0], '']],
    ['empty', ['KM;Branch', '']],
    ['without a byte', ['']],
  ])(
    'that is %s is not compared until a person confirms it, and then says so',
    async (name, lines) => {
      const path = write(`${name}.csv`, lines.join('\n'));
      const refused = await run(path);
      expect([refused.status, refused.stdout]).not.toEqual([0, expect.anything()]);
      expect(refused.stderr).toContain('--confirm');
      const { stdout, stderr } = await run(path, '--confirm');
      if (stdout === '') throw new Error(stderr);
      const { run: runId, recorded, counts, quieted } = JSON.parse(stdout) as Told & Quieted;
      expect(recorded).toBe(true);
      // What it lacks is missed at its branch, though the packs moved just before, so that their sales may still come.
      expect((counts['missing_locally'] ?? 0) + (quieted['till_sale_may_come'] ?? 0)).toBeGreaterThanOrEqual(5);
      const { rows } = await stack.db.pool.query<{ data: string }>(
        `SELECT convert_from(data, 'UTF8') AS data FROM event WHERE stream = $1 AND type = 'PackRunStarted'`,
        [`run-${runId}`],
      );
      expect(JSON.parse(rows[0]?.data ?? '{}')).toMatchObject({ stockConfirmed: true });
    },
    120_000,
  );
});
