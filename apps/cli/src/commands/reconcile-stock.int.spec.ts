// Left to the soak: runs by the program itself. `npm test` has stock-runs.int of the reconciler.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cpSync, mkdirSync, renameSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { worldOf, writeWorld, type Folders } from '../../../../libs/reconciliation/test/world.js';
import {
  comparisonSettings,
  inputsDigest,
  openComparison,
  resultOf,
  runComparison,
  type ComparisonResult,
  type RunRecord,
  type SnapshotManifest,
} from '#reconciliation';
import { sha256Hex } from '#kernel';
import { buildPrograms, repositoryFile } from '../../../../test/scenarios/built-programs.js';
import { commandHere } from '../../../../test/support/command-here.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';

const CHILD = repositoryFile('dist/libs/reconciliation/src/comparison/child.js');
const STOCK = ['KM;Branch;State', '04601234567893TESTSERIAL001;P1;Free', '04601234567893TESTSERIAL002;P1;', 'x;P1;'];

let folder: TemporaryFolder;
let legs: Folders;
beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  legs = await writeWorld(folder.path, worldOf(7, 300));
}, 600_000);
afterAll(() => folder.remove());

const pedigree = (...args: string[]) =>
  commandHere(args, { DATA_DIR: join(folder.path, 'data'), SEGMENTS_MEMORY_MB: '200', SEGMENTS_THREADS: '1' });

const inFolder = (name: string): string => join(folder.path, name);
const sides = (): string[] => [
  ...[legs.stock, '--record', legs.record, '--registry', legs.registry, '--disposals', legs.disposals],
];

describe('pedigree stock', () => {
  it('proposes a mapping, imports the file by it, and lists what it refused', async () => {
    writeFileSync(inFolder('stock.csv'), `${STOCK.join('\n')}\n`);
    const proposed = await pedigree('stock', 'inspect', inFolder('stock.csv'));
    expect([proposed.status, JSON.parse(proposed.stdout)]).toMatchObject([0, { columns: { item: 'KM' } }]);
    writeFileSync(
      inFolder('mapping.json'),
      JSON.stringify({
        ...{ format: 'csv', delimiter: ';', columns: { item: 'KM', place: 'Branch', state: 'State' } },
        words: { state: { Free: 'sellable' } },
      }),
    );
    const { status, stdout } = await pedigree(
      ...['stock', 'import', inFolder('stock.csv'), '--mapping', inFolder('mapping.json')],
      ...['--moment', '2026-11-23T08:00:00+03:00', '--out', inFolder('set/tiny'), '--json'],
    );
    const made = JSON.parse(stdout) as SnapshotManifest;
    expect([status, made.rows, made.refused, made.places]).toEqual([1, 2, 1, ['P1']]);
    expect(readFileSync(inFolder('set/tiny/refused.ndjson'), 'utf8')).toContain('"line":4');
  });
});

describe('pedigree reconcile stock', () => {
  it('gives one digest by one process and by several, and again in a replay', async () => {
    const outcomes: ComparisonResult[] = [];
    for (const processes of ['1', '3']) {
      const out = inFolder(`run-${processes}`);
      const ran = await pedigree('reconcile', 'stock', ...sides(), '--out', out, '--processes', processes, '--json');
      expect(ran.status).toBe(1);
      outcomes.push(JSON.parse(ran.stdout) as ComparisonResult);
    }
    expect(outcomes[0]?.findings).toBeGreaterThan(100);
    expect(outcomes[1]).toEqual(outcomes[0]);
    const replayed = await pedigree('reconcile', 'stock', '--replay', inFolder('run-3'), '--processes', '2');
    expect([replayed.status, replayed.stdout]).toEqual([0, `the same digest: ${outcomes[0]?.digest}\n`]);
  });

  it('is repeated where all of its sides lie elsewhere, as on another machine', async () => {
    mkdirSync(inFolder('here'));
    for (const [name, from] of Object.entries(legs)) cpSync(from, inFolder(`here/${name}`), { recursive: true });
    const at = (place: string): string[] => [
      inFolder(`${place}/stock`),
      ...(['record', 'registry', 'disposals'] as const).flatMap((name) => [`--${name}`, inFolder(`${place}/${name}`)]),
    ];
    await pedigree('reconcile', 'stock', ...at('here'), '--out', inFolder('run-here'));
    renameSync(inFolder('here'), inFolder('there'));
    const replayed = await pedigree('reconcile', 'stock', ...at('there'), '--replay', inFolder('run-here'));
    expect([replayed.status, replayed.stderr, replayed.stdout]).toEqual([
      ...[0, expect.anything(), expect.stringMatching(/^the same digest: /)],
    ]);
  });

  it('is repeated where the folder of data was moved, or restored elsewhere', async () => {
    const at = (data: string, name: string): string => inFolder(`${data}/segments/${name}`);
    for (const [name, from] of Object.entries(legs))
      cpSync(from, at('data', `snapshots/moved-${name}`), { recursive: true });
    const [stock, ...others] = Object.keys(legs).map((name) => at('data', `snapshots/moved-${name}`));
    const given = Object.keys(legs).flatMap((name, n) => (n === 0 ? [] : [`--${name}`, others[n - 1] as string]));
    await pedigree('reconcile', 'stock', stock as string, ...given, '--out', at('data', 'runs/r/comparison'));
    renameSync(inFolder('data'), inFolder('restored'));
    const replayed = await commandHere(['reconcile', 'stock', '--replay', at('restored', 'runs/r/comparison')], {
      ...{ DATA_DIR: inFolder('restored'), SEGMENTS_MEMORY_MB: '200', SEGMENTS_THREADS: '1' },
    });
    renameSync(inFolder('restored'), inFolder('data'));
    expect([replayed.status, replayed.stdout]).toEqual([0, expect.stringMatching(/^the same digest: /)]);
  });

  it('says of a run by other rules whose they are, and how its sides are compared by those of now', async () => {
    const out = inFolder('run-other');
    cpSync(inFolder('run-1'), out, { recursive: true });
    const record = JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')) as RunRecord;
    const older = { ...record, rules: sha256Hex('others'), version: '0.0.1' };
    writeFileSync(join(out, 'run.json'), JSON.stringify({ ...older, inputs: inputsDigest(older) }));
    const { status, stderr } = await pedigree('reconcile', 'stock', '--replay', out);
    expect(status).toBe(2);
    expect(stderr).not.toContain('was changed');
    expect(stderr).toContain('is of the rules of pedigree 0.0.1, and pedigree');
    const [, again = ''] = /compare by these rules: pedigree (.*) --out FOLDER/.exec(stderr) ?? [];
    const compared = await pedigree(...again.replaceAll("'", '').split(' '), '--out', inFolder('run-again'), '--json');
    const before = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')) as ComparisonResult;
    expect((JSON.parse(compared.stdout) as ComparisonResult).digest).toBe(before.digest);
  });

  it('says of a run by other rules by which settings it compared: without them others would be found', async () => {
    const out = inFolder('run-settings');
    cpSync(inFolder('run-1'), out, { recursive: true });
    const record = JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')) as RunRecord;
    const older = { ...record, rules: sha256Hex('others'), settings: { ...record.settings, hungDays: 5 } };
    writeFileSync(join(out, 'run.json'), JSON.stringify({ ...older, inputs: inputsDigest(older) }));
    const { stderr } = await pedigree('reconcile', 'stock', '--replay', out);
    const [, told = ''] =
      / --settings SETTINGS --out FOLDER, where the file SETTINGS holds (\{.*\})/.exec(stderr) ?? [];
    expect(JSON.parse(told)).toEqual(older.settings);
  });

  it('says what it did not look for where the registry was asked by name alone', async () => {
    const named = inFolder('named');
    cpSync(legs.registry, named, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(named, 'manifest.json'), 'utf8')) as SnapshotManifest;
    writeFileSync(join(named, 'manifest.json'), JSON.stringify({ ...manifest, namedOnly: true }));
    const outs = [];
    for (const registry of [named, legs.registry]) {
      const given = [legs.stock, '--record', legs.record, '--registry', registry];
      outs.push(await pedigree('reconcile', 'stock', ...given, '--out', `${registry}-run`));
    }
    const said = outs.map(({ stdout }) => stdout.includes('packs that only the registry has were not looked for'));
    expect(said).toEqual([true, false]);
  });

  it('says where an input is missing', async () => {
    const { status, stderr } = await pedigree('reconcile', 'stock', inFolder('nothing'), '--out', inFolder('none'));
    expect(status).toBeGreaterThan(0);
    expect(stderr).toContain('holds no snapshot');
  });

  it('goes on after kill -9 of the comparing process, with the same digest', async () => {
    const out = inFolder('killed');
    await openComparison(out, { ...legs, settings: comparisonSettings({}) });
    const [begun, buckets]: [number[], number[]] = [[], []];
    await runComparison(out, {
      ...{ memoryMb: 200, threads: 1, processes: 1, program: CHILD },
      onProcess: (pid) => begun.push(pid),
      onBucket: (bucket) => {
        buckets.push(bucket);
        if (buckets.length === 5) process.kill(Number(begun[0]), 'SIGKILL');
      },
    });
    expect(begun).toHaveLength(2);
    // What was done stays done: only what the dead process had in hand is begun twice.
    expect(buckets.length).toBeLessThanOrEqual(17 + 1);
    const whole = JSON.parse(readFileSync(join(inFolder('run-1'), 'result.json'), 'utf8')) as ComparisonResult;
    expect((await resultOf(out)).digest).toBe(whole.digest);
  });
});
