// Left to the soak: each file that is gone. `npm test` has pack-cases.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { packsSeen } from '#domain';
import { Duck } from '#duckdb';
import type { CaseRow } from '#read-models';
import { CaseWorld, pack, told } from '../../test/case-world.js';
import { resultOf } from '../comparison/run-comparison.js';
import { readRun } from '../comparison/run-record.js';
import { strangersTo } from './items-of-case.js';
import { beginGroups, groupFindings, readGroups } from './pack-groups.js';

const [A, B, C] = [pack(1), pack(2), pack(3)];
/** Each story has a code and a series of its own, and its cases are over at its end. */
const story = (code: string, g_series: string) => ({ code, g_series, severity: 'warning', copies: 1, s_place: 'P1' });
const all = [A, B, C].map((item) => told(item));

let world: CaseWorld;
beforeAll(async () => {
  world = await CaseWorld.open();
});
afterAll(() => world.close());

const fileOf = ({ state }: CaseRow, out: string): string => join(out, packsSeen(state).rows?.file ?? '');
const counts = async (code: string) =>
  (await world.rows(code)).map(({ itemCount, phase, state }) => [itemCount, packsSeen(state).unjudged ?? 0, phase]);

describe('a case whose last items are not at hand', () => {
  it('keeps them, is told what is found, and has both when they are at hand again', async () => {
    const seen = story('archived_in_stock', 'A');
    const out = await world.runOf(0, { findings: [A, B].map((item) => ({ ...seen, item })) });
    await world.openedOf(out);
    const file = fileOf(await world.one(seen.code), out);
    const whole = readFileSync(file);
    const breaks = [() => writeFileSync(file, whole.subarray(0, 100)), () => rmSync(file)];
    const warnings: string[] = [];
    for (const [n, breakIt] of breaks.entries()) {
      breakIt();
      const found = { findings: [{ ...seen, item: A }] };
      const opening = await world.opened(1 + n, found, { onWarning: (text) => void warnings.push(text) });
      expect(opening).toMatchObject({ seen: 1, notCovered: 0 });
      expect(await counts(seen.code)).toEqual([[2, 1, 'open']]);
    }
    expect(warnings).toEqual([
      ...[expect.stringMatching(/is damaged$/), expect.stringMatching(/^one case has items that are not at hand/)],
      expect.stringMatching(/^one case has items that are not at hand/),
    ]);
    expect(await world.opened(3)).toMatchObject({ resolved: 0, notCovered: 1 });
    writeFileSync(file, whole);
    const record = [A, B, C].map((item) => ({ item }));
    const third = await world.runOf(4, { findings: [{ ...seen, item: C }], registry: [told(A), told(C)], record });
    expect(await world.openedOf(third)).toMatchObject({ seen: 1 });
    // Of one the run found that it is over, and of another it was told nothing.
    expect(await world.itemsOf(await world.one(seen.code), third)).toEqual([
      [B, true],
      [C, false],
    ]);
    expect((await world.one(seen.code)).packsRuns).toHaveLength(1);
    expect(await world.opened(5, { registry: all })).toMatchObject({ resolved: 1 });
  });

  it('has them also when the run that kept them is opened again, once their folder is named', async () => {
    const seen = story('unmapped_status', 'B');
    const first = await world.runOf(0, { findings: [A, B].map((item) => ({ ...seen, item })) });
    await world.openedOf(first);
    const away = join(world.folder.path, 'away');
    await mkdir(away, { recursive: true });
    renameSync(first, join(away, 'first'));
    const second = await world.runOf(1, { findings: [{ ...seen, item: A }], registry: [told(A)] });
    await expect(world.openedOf(second, { log: world.dying(0) })).rejects.toThrow('killed');
    // What was written while the items were away is not what is told now.
    expect(await world.openedOf(second, { earlier: [join(away, 'first')] })).toMatchObject({ seen: 1 });
    const after = await world.one(seen.code);
    expect(after).toMatchObject({ itemCount: 2, state: { lastSeen: { unjudged: 1 } } });
    expect(await world.itemsOf(after, second)).toEqual([
      [A, false],
      [B, true],
    ]);
    await world.openedOf(second);
    expect(await world.one(seen.code)).toMatchObject({ runsSeen: 2, itemCount: 2 });
    expect(await world.opened(2)).toMatchObject({ resolved: 1 });
  });

  it('is in one case with an item that moved there: the item is found, and in no other', async () => {
    const seen = { ...story('owner_or_branch_mismatch', 'D'), g_place: 'P9' };
    const of = (item: string, s_place: string) => ({ ...seen, item, s_place });
    const first = await world.runOf(0, { findings: [of(B, 'P2')] });
    await world.openedOf(first);
    await world.opened(1, { findings: [of(A, 'P1'), of(B, 'P2')] });
    const second = (await world.rows(seen.code)).find(({ place }) => place === 'P2') as CaseRow;
    const [moved] = readdirSync(world.folder.path).flatMap((name) => {
      const path = join(world.folder.path, name, packsSeen(second.state).rows?.file ?? '');
      return readdirSync(join(world.folder.path, name)).includes(basename(path)) ? [path] : [];
    });
    rmSync(moved ?? '');
    await world.opened(2, { findings: [of(A, 'P2'), of(B, 'P2')] });
    const after = await world.rows(seen.code);
    expect(after.map(({ place, itemCount, phase }) => [place, itemCount, phase])).toEqual([
      ['P2', 2, 'open'],
      ['P1', 1, 'open'],
    ]);
  });

  it('that was split off has no item again that was judged', async () => {
    const seen = story('undetermined_item', 'E');
    const findings = [A, B, C].map((item) => ({ ...seen, item }));
    await world.opened(0, { findings: [...findings, { ...seen, item: pack(4) }], registry: all });
    const part = await world.splitOff(seen.code, [A, B, C]);
    const ofPart = async () => (await world.rows(seen.code)).find(({ caseId }) => caseId === part) as CaseRow;
    const out = await world.runOf(1, { findings: findings.slice(0, 1), registry: all });
    await world.openedOf(out);
    expect(await ofPart()).toMatchObject({ itemCount: 1 });
    rmSync(fileOf(await ofPart(), out));
    await world.opened(2, { findings: findings.slice(0, 1), registry: all.slice(0, 1) });
    expect(await ofPart()).toMatchObject({ itemCount: 1 });
    expect(await world.opened(3, { registry: all })).toMatchObject({ resolved: 0 });
  });
});

describe('the folders of earlier runs', () => {
  it('lie beside that of a recorded run, each as `comparison` in one of its own', async () => {
    const seen = story('duplicate_locally', 'F');
    const recorded = async (day: number, found: string[]): Promise<string> => {
      await mkdir(join(world.folder.path, 'runs', `${day}`), { recursive: true });
      return world.runOf(
        day,
        { findings: found.map((item) => ({ ...seen, item })) },
        join('runs', `${day}`, 'comparison'),
      );
    };
    await world.openedOf(await recorded(0, [A, B]));
    expect(await world.openedOf(await recorded(1, [A]))).toMatchObject({ seen: 1 });
    expect(await counts(seen.code)).toEqual([[1, 0, 'open']]);
    await world.openedOf(await recorded(2, []));
    expect(await counts(seen.code)).toEqual([[1, 0, 'resolved']]);
  });

  it('may be two with the same inputs: the rows of a case are of the one that has its file', async () => {
    const seen = story('status_mismatch', 'G');
    const runs = join(world.folder.path, 'twice', 'runs');
    const recorded = async (name: string, found: Parameters<CaseWorld['runOf']>): Promise<string> => {
      await mkdir(join(runs, name), { recursive: true });
      return world.runOf(found[0], found[1], join('twice', 'runs', name, 'comparison'));
    };
    await world.openedOf(await recorded('1', [0, { findings: [{ ...seen, item: B }] }]));
    const again = await recorded('2', [1, { findings: [{ ...seen, item: A }], registry: [told(A)] }]);
    const [dry, twin] = ['0-dry', '3-twin'].map((name) => join(runs, name, 'comparison')) as [string, string];
    for (const one of [dry, twin]) await copyOf(again, one);
    await world.openedOf(again);
    await world.openedOf(twin);
    expect(await world.one(seen.code)).toMatchObject({ itemCount: 2, runsSeen: 2 });
    const items = [A, B, C];
    const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(runs, '..', 'duck') });
    const of = { folder: join(runs, '..'), seen: packsSeen((await world.one(seen.code)).state), items };
    expect(await strangersTo(duck, of)).toEqual([C]);
    rmSync(join(again, of.seen.rows?.file ?? ''));
    expect(await strangersTo(duck, of)).toBeUndefined();
    await duck.close();
  });
});

/** The same run in another folder, without what was written for its cases. */
async function copyOf(run: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of readdirSync(run).filter((one) => /\.(json|parquet)$/.test(one)))
    writeFileSync(join(to, name), readFileSync(join(run, name)));
}

describe('the rows of a case', () => {
  it('are of the file that is named by its content, when two open the cases of a run at once', async () => {
    const seen = story('status_mismatch', 'J');
    const out = await world.runOf(27, { findings: [A, B].map((item) => ({ ...seen, item })) });
    const open = (temporary: string) => Duck.open({ memoryMb: 200, threads: 1, temporary: join(out, temporary) });
    const [one, two, three] = await Promise.all([open('d1'), open('d2'), open('d3')]);
    const [record, result] = [await readRun(out), await resultOf(out)];
    const ducks = [one, two, three];
    for (const duck of ducks) await beginGroups(duck, { run: record, folder: out, result });
    await two.run(`CREATE TABLE late AS SELECT * FROM found LIMIT 1; DROP VIEW found; CREATE VIEW found AS FROM late`);
    const names = await Promise.all(ducks.map((duck) => groupFindings(duck, out)));
    const found = await Promise.all(
      ducks.map(async (duck) => (await readGroups(duck, 0, 9)).map(({ count }) => count)),
    );
    expect(found).toEqual([[2], [1], [2]]);
    expect([new Set(names).size, names[0] === names[2]]).toEqual([2, true]);
    expect(
      readdirSync(out)
        .filter((name) => name.startsWith('items-of-cases'))
        .sort(),
    ).toEqual([...new Set(names)].sort());
    await Promise.all(ducks.map((duck) => duck.close()));
  });

  it('go to the disk where they do not fit into memory', async () => {
    const out = await world.runOf(28, { findings: [{ ...story('status_mismatch', 'L'), item: A }] });
    const duck = await Duck.open({ memoryMb: 100, threads: 1, temporary: join(out, 'd') });
    await beginGroups(duck, { run: await readRun(out), folder: out, result: await resultOf(out) });
    await duck.run(`CREATE TABLE one AS FROM found; DROP VIEW found;
      CREATE VIEW found AS SELECT * REPLACE (substr(item, 1, 14) || lpad(i::VARCHAR, 13, '0') AS item,
        'S' || i AS series) FROM one, range(300_000) r (i)`);
    await groupFindings(duck, out);
    expect(await duck.rows('SELECT count(*) AS n, sum(count)::INTEGER AS items FROM pack_group')).toEqual([
      { n: 300_000n, items: 300_000 },
    ]);
    await duck.close();
  });

  it('are judged as they were when it was told: what another run tells meanwhile has the run begin again', async () => {
    const seen = story('sold_with_deviation', 'K');
    const of = (...items: string[]) => items.map((item) => ({ ...seen, item }));
    await world.opened(0, { findings: of(A), registry: all });
    for (const [day, found] of [
      [2, of(A)],
      [4, []],
    ] as const) {
      const other = await world.runOf(day - 1, { findings: of(A, B), registry: all });
      const out = await world.runOf(day, { findings: [...found], registry: [told(A)] });
      let isFirst = true;
      const log = world.logWith(async (...args) => {
        if (isFirst) {
          isFirst = false;
          await world.openedOf(other);
        }
        return world.store.append(...args);
      });
      await expect(world.openedOf(out, { log })).rejects.toThrow('another run has told 1 of these cases');
      expect(await world.one(seen.code)).toMatchObject({ phase: 'open', itemCount: 2 });
      await world.openedOf(out);
      expect(await world.itemsOf(await world.one(seen.code), out)).toEqual([
        ...found.map((): [string, boolean] => [A, false]),
        [B, true],
      ]);
    }
    await world.opened(6, { registry: all });
    expect(await world.one(seen.code)).toMatchObject({ phase: 'resolved' });
  });
});
