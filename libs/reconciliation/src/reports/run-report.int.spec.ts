import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { caseIdOf, partOf, type CaseCommand } from '#domain';
import { Duck } from '#duckdb';
import { sha256Hex } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas } from '#read-models';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun, type FoundItem, type RunOver } from '../../test/finished-run.js';
import { daysBefore } from '../../test/world.js';
import { CaseLog } from '../cases/case-log.js';
import { DEFAULT_DUE_DAYS, dueDaysOf } from '../cases/opening.js';
import { openPackCases } from '../cases/pack-cases.js';
import { doBuckets } from '../comparison/buckets-of-run.js';
import { RULES_DIGEST } from '../comparison/run-record.js';
import { allFindings, firstFindings, type FindingRow } from './findings.js';
import { readRunFacts } from './run-facts.js';
import { runReport } from './run-report.js';

const LIMITS = { memoryMb: 200, threads: 1 };
const pack = (n: number): string => `04601234567893${String(n).padStart(13, '0')}`;
const HOSTILE = `"><img src=x onerror=alert(1)>&'</td><script>`;

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

const runs = (): string => join(folder.path, 'runs');
const comparison = (runId: string): string => join(runs(), runId, 'comparison');

type Over = RunOver & { findings: FoundItem[]; registry?: Parameters<typeof writeFinishedRun>[1]['registry'] };
async function run(runId: string, day: number, { findings, ...over }: Over) {
  await mkdir(join(runs(), runId), { recursive: true });
  const registry = findings.map(({ item }) => ({ item, answer: 'found', container: null }));
  return writeFinishedRun(comparison(runId), { findings, registry, moment: daysBefore(-day), ...over });
}

const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
const caseLog = (): CaseLog => {
  const installation = { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1' };
  return new CaseLog({ db: db.pool, store, installation: { ...installation, profile: 'n' } });
};
const projected = () => catchUpProjection({ projection: casesProjection(), store, pool: db.pool });

async function casesOpened(runId: string): Promise<void> {
  await openPackCases(comparison(runId), {
    ...{ db: db.pool, dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 'test'), duck: LIMITS, log: caseLog() },
    ...{ actor: ACTOR, now: new Date(daysBefore(-30)) },
  });
  await projected();
}
async function toldCase(command: CaseCommand): Promise<void> {
  await caseLog().tell(command, { actor: ACTOR, id: 'split', at: '' });
  await projected();
}

const missing = (n: number, place = 'P1'): FoundItem => ({
  ...{ item: pack(n), code: 'missing_locally', severity: 'warning', g_place: place, g_series: 'AB1' },
});
const sold = (n: number): FoundItem => ({
  ...{
    item: pack(n),
    code: 'sold_in_registry_in_stock_here',
    severity: 'critical',
    s_place: 'P2',
    s_state: 'sellable',
  },
});

const factsOf = (runId: string, limit?: number) =>
  readRunFacts(runId, {
    ...{ runs: runs(), db: db.pool, duck: { ...LIMITS, temporary: join(folder.path, 'spill') } },
    ...(limit === undefined ? {} : { limit }),
  });

async function pageOf(runId: string, { limit, reason = 'why' }: { limit?: number; reason?: string } = {}) {
  const facts = await factsOf(runId, limit);
  const { digest } = facts.result;
  const logged = { requestedAt: daysBefore(0), requestedBy: HOSTILE, reason, calls: 3, digest };
  const text = runReport({
    facts,
    logged,
    writtenAt: daysBefore(-9),
    version: '1',
    firstStep: (code) => `see ${code}`,
  });
  return { facts, text };
}

async function withDuck<T>(use: (duck: Duck) => Promise<T>): Promise<T> {
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'spill') });
  try {
    return await use(duck);
  } finally {
    await duck.close();
  }
}

const ELEMENTS =
  'html head meta title style body header section h1 h2 p span code pre strong div table caption thead tbody tr th ' +
  'td svg desc g text rect';

describe('the page of a run', () => {
  it('shows values of files and persons as text, and has no part that could act or ask outside', async () => {
    await run('hostile', 1, { findings: [missing(1, HOSTILE), sold(2)], places: [HOSTILE] });
    const { text } = await pageOf('hostile', { reason: HOSTILE });
    expect(text.split('&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&#39;&lt;/td&gt;&lt;script&gt;')).toHaveLength(
      1 + 4,
    );
    expect(new Set([...text.matchAll(/<([a-z0-9]+)/g)].map(([, name]) => name))).toEqual(new Set(ELEMENTS.split(' ')));
    expect(text).not.toMatch(/<[^>]*\son\w+=|<[^>]*\sstyle=|https?:\/\//);
    const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? '';
    const policy = /Content-Security-Policy"\s+content="([^"]*)"/.exec(text)?.[1]?.replaceAll('&#39;', "'");
    const styleDigest = createHash('sha256').update(style).digest('base64');
    expect(policy).toBe(`default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'`);
  });

  it('names digests, sides, counts, and how to repeat it', async () => {
    await run('plain', 1, { findings: [missing(1), missing(2), sold(3)], unseen: ['hung_stock'] });
    const { facts, text } = await pageOf('plain');
    for (const said of [
      facts.result.digest,
      facts.record.inputs,
      facts.rulesDigest,
      'pedigree reconcile --replay plain',
    ])
      expect(text).toContain(said);
    for (const { digest } of facts.sides) expect(text).toContain(digest);
    expect(facts.counts).toEqual([
      { code: 'sold_in_registry_in_stock_here', severity: 'critical', findings: 1 },
      { code: 'missing_locally', severity: 'warning', findings: 2 },
    ]);
    expect(text).toContain('sold_in_registry_in_stock_here, critical');
    expect(text).toContain('Not looked for, because a side is absent: hung_stock.');
    expect(text.indexOf(pack(3))).toBeLessThan(text.indexOf(pack(1)));
  });

  it('shows what the sides of a finding differ in', async () => {
    const shelf = { ...{ severity: 'warning', s_state: 'sellable', s_place: 'P1' }, answer: 'found', held: false };
    const series = { ...shelf, item: pack(1), code: 'attribute_mismatch', s_series: 'B2', g_series: 'A1-2026' };
    const twice = { ...shelf, item: pack(2), code: 'duplicate_locally', copies: 2 };
    const sold = { ...shelf, item: pack(3), code: 'sold_here_open_in_registry', d_receipt: 'till 17' };
    await run('differing', 1, { findings: [series, twice, sold], places: ['DIFFERING'] });
    const { text } = await pageOf('differing');
    for (const said of ['series B2', 'series A1-2026', 'rows 2', 'till 17', '>disposal<']) expect(text).toContain(said);
    expect(text).not.toContain('>our document<');
  });

  it('says what it did not look for where the registry was asked by name alone', async () => {
    await run('named', 1, { findings: [], namedOnly: true, places: ['NAMED'] });
    const said = async (runId: string): Promise<boolean> =>
      (await pageOf(runId)).text.replace(/\s+/g, ' ').includes('packs that only the registry has were not looked for');
    expect([await said('named'), await said('plain')]).toEqual([true, false]);
  });

  it('is made of a run by the rules of an earlier version, whose buckets are not done anew', async () => {
    const rules = sha256Hex('the rules of an earlier version');
    await run('older', 1, { findings: [missing(1)], rules, places: ['OLDER'] });
    await run('newer', 2, { findings: [missing(2)], rules: RULES_DIGEST, places: ['OLDER'] });
    const { facts, text } = await pageOf('older');
    expect(facts.listed.map(({ item }) => item)).toEqual([pack(1)]);
    expect(text).toContain(rules);
    expect((await factsOf('newer')).trend).toEqual([]);
    await expect(doBuckets({ folder: comparison('older'), ...LIMITS })).rejects.toThrow(
      /is of the rules of another version of pedigree, and pedigree \S+ has others: begin a new run/,
    );
    // Its digest is over its own rules, and not over those of this version.
    const file = join(comparison('older'), 'run.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace(rules, sha256Hex('rules that it never had')));
    await expect(factsOf('older')).rejects.toThrow('was changed');
  });

  it('lists so many findings, and says that there are more', async () => {
    const { facts, text } = await pageOf('plain', { limit: 2 });
    expect(facts.listed.map(({ item }) => item)).toEqual([pack(3), pack(1)]);
    expect(text.replace(/\s+/g, ' ')).toContain('Only the first 2 of 3 findings are listed');
    expect((await pageOf('plain')).text).not.toContain('Only the first');
  });

  it('leads from a finding to its case', async () => {
    await run('cases', 2, { findings: [missing(11), missing(12), sold(13)] });
    await casesOpened('cases');
    const { facts, text } = await pageOf('cases');
    expect(facts.cases.map(({ code, itemCount }) => [code, itemCount])).toEqual([
      ['sold_in_registry_in_stock_here', 1],
      ['missing_locally', 2],
    ]);
    const [of13, of11, of12] = facts.listed.map(({ case_id }) => case_id);
    expect([of13, of11, of12]).toEqual([0, 1, 1].map((n) => facts.cases[n]?.caseId));
    expect(text).toContain(`href="#case-${of13}"`);
    expect(text).toContain(`id="case-${of13}"`);
  });

  it('leads from a finding that a person took out to its part, as long as this run is the last that told it', async () => {
    const places = ['SPLIT'];
    const findings = [21, 22, 23].map((n) => ({ ...missing(n, 'SPLIT'), g_series: 'SPLIT' }));
    await run('split', 2, { findings, places });
    await casesOpened('split');
    const [of] = (await factsOf('split')).cases;
    const { caseId, code, state, dueAt } = of as NonNullable<typeof of>;
    const cause = partOf(caseId, [pack(21), pack(22)]);
    const part = caseIdOf(code, cause);
    const { rows, ...last } = state.lastSeen;
    const seen = { ...last, rows: { file: rows?.file ?? '', from: 0, to: 0 }, count: 2 };
    await toldCase({ type: 'Split', caseId, part, items: cause.items, count: 2 });
    await toldCase({ type: 'See', caseId: part, code, cause, severity: 'warning', dueAt: dueAt.toISOString(), seen });
    const { facts, text } = await pageOf('split');
    expect(facts.listed.map(({ case_id }) => case_id)).toEqual([part, part, caseId]);
    expect(text).toContain(`id="case-${part}"`);
    // A later run tells the part, and cannot judge what is left in the case.
    const registry = [{ item: pack(21), answer: 'found', container: null }];
    await run('split-later', 3, { findings: findings.slice(0, 1), places, registry });
    await casesOpened('split-later');
    expect((await factsOf('split')).listed.map(({ case_id }) => case_id)).toEqual([null, null, caseId]);
  });

  it('is refused where a findings file was changed since', async () => {
    await run('other', 1, { findings: [missing(1)] });
    await run('changed', 1, { findings: [missing(2)] });
    const file = 'findings-0.parquet';
    await withDuck((duck) =>
      duck.run(
        `COPY (FROM '${join(comparison('other'), file)}') TO '${join(comparison('changed'), file)}' (FORMAT parquet)`,
      ),
    );
    await expect(factsOf('changed')).rejects.toThrow('its digest is another');
    await appendFile(join(comparison('other'), 'run.json'), ' nonsense');
    await expect(factsOf('other')).rejects.toThrow();
  });
});

describe('the trend', () => {
  it('tells by item and code what is new, what persists and what is cleared', async () => {
    const places = ['TREND'];
    await run('first', 3, { findings: [missing(1), missing(2), sold(3)], places });
    await run('second', 4, { findings: [missing(2), missing(3), missing(4)], places });
    await run('elsewhere', 5, { findings: [missing(9)], places: ['OTHER'] });
    await run('fewer', 5, { findings: [missing(9)], places, legs: ['stock', 'record'] });
    await run('by-name', 5, { findings: [], places, namedOnly: true });
    for (const [n, settings] of [{ containers: false }, { transitDays: 90 }, { hungDays: 30 }].entries())
      await run(`set-${n}`, 5.1 + n / 10, { findings: [], places, settings });
    await run('third', 6, { findings: [missing(3), sold(3)], places });
    await run('later', 7, { findings: [], places });
    const { facts, text } = await pageOf('third');
    expect(facts.trend.map(({ from, to }) => [from.runId, to.runId])).toEqual([
      ['first', 'second'],
      ['second', 'third'],
    ]);
    expect(facts.trend.map(({ changes }) => changes)).toEqual([
      [
        { code: 'missing_locally', fresh: 2, persisting: 1, cleared: 1 },
        { code: 'sold_in_registry_in_stock_here', fresh: 0, persisting: 0, cleared: 1 },
      ],
      [
        { code: 'missing_locally', fresh: 0, persisting: 1, cleared: 2 },
        { code: 'sold_in_registry_in_stock_here', fresh: 1, persisting: 0, cleared: 0 },
      ],
    ]);
    expect(text).toContain('By code, since the run of');
  });
});

describe('findings of a run', () => {
  it('are chosen by code, severity, place and series, and all of them come page by page', async () => {
    const many = Array.from({ length: 12_345 }, (_, n) => missing(n));
    await run('many', 8, { findings: [...many, sold(3), { ...sold(4), s_series: 'CD2' }] });
    const all = async (filter: object): Promise<FindingRow[]> =>
      withDuck(async (duck) => {
        const found: FindingRow[] = [];
        for await (const rows of allFindings(duck, comparison('many'), filter)) found.push(...rows);
        return found;
      });
    const whole = await all({});
    expect(new Set(whole.map(({ item, code }) => `${item} ${code}`)).size).toBe(12_347);
    expect(await all({ severity: 'critical' })).toHaveLength(2);
    expect(await all({ place: 'P1' })).toHaveLength(12_345);
    expect((await all({ code: 'sold_in_registry_in_stock_here', series: 'CD2' })).map(({ item }) => item)).toEqual([
      pack(4),
    ]);
    expect(await all({ place: `' OR 'a' = 'a` })).toEqual([]);
    const first = await withDuck((duck) => firstFindings(duck, comparison('many'), { place: 'P2', limit: 1 }));
    expect(first).toMatchObject([{ item: pack(3), s_place: 'P2', g_place: null }]);
  });
});
