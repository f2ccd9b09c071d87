// Left to the soak: sweeps of a whole log. `npm test` has auditor.int and the sweep of each part.
import { lstatSync, readdirSync, readFileSync, writeFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { until } from '../../../../test/support/until.js';
import { LogKeys } from '#proofs';
import { VirtualClock } from '#kernel';
import { installationId } from '#postgres';
import { readModelSchemas } from '#read-models';
import type { ServiceLog } from '#service';
import { RegularSweep } from './regular-sweep.js';
import { StateFile, type StateKeeper, type SweepState } from './state-file.js';
import { Sweep, type PassOutcome } from './sweep.js';
import { SWEEP_STREAM, SweepEvents } from './sweep-events.js';

const HOUR_MS = 3_600_000;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as ServiceLog;

let log: AuditedLog;
let auditor: TestAuditor;
let clock: VirtualClock;
let ending: AbortController;
let running: Promise<void>;
beforeEach(async () => {
  log = await AuditedLog.open(readModelSchemas);
  auditor = log.auditor('one');
  clock = new VirtualClock();
  ending = new AbortController();
  running = Promise.resolve();
  await log.write(40);
  await sign();
});
afterEach(async () => {
  ending.abort();
  await running;
  await log.close();
});

async function sign(): Promise<void> {
  await auditor.seal();
  await auditor.watch.sign();
}

const state = (): SweepState => new StateFile(auditor.folder.path, silent).read();

function parts(keeper: StateKeeper = new StateFile(auditor.folder.path, silent)) {
  const { pool } = log.db;
  const events = new SweepEvents({
    ...{ store: log.store, participant: 'own', profile: 'none', now: () => clock.now() },
    installation: () => installationId(pool),
    actor: { kind: 'system', name: 'auditor', authenticatedBy: 'process' },
  });
  const { store, signer } = log;
  const { folder } = auditor;
  const keys = new LogKeys(signer);
  const { signal } = ending;
  const made = { pool, store, folder, keys, witnesses: [], keeper, events, clock, signal };
  return { ...made, connectionString: log.db.url };
}

function started(everyMs = 24 * HOUR_MS): RegularSweep {
  const sweep = new RegularSweep({ ...parts(), everyMs, log: silent });
  running = sweep.run(ending.signal);
  return sweep;
}

/** What the stream of the sweep says, in order. */
async function told(): Promise<string[]> {
  return (await log.store.readStream(SWEEP_STREAM)).map(({ type }) => type);
}

/** Minutes pass one by one, and what is due is done, until so many passes ended. */
async function passesEnd(passes: number, minutes: number): Promise<void> {
  for (let n = 0; n < minutes; n += 1) {
    await until('it waits', () => clock.waiting > 0);
    if ((state().ended?.pass ?? 0) >= passes) return;
    clock.advance(60_000);
  }
  await until('it waits', () => clock.waiting > 0);
  expect(state().ended?.pass ?? 0).toBe(passes);
}

describe('a regular sweep', () => {
  it('begins a minute after the start, and again when its time has come', async () => {
    const sweep = started(2 * HOUR_MS);
    await until('it waits', () => clock.waiting > 0);
    clock.advance(59_999);
    expect(state().pass).toBe(0);
    // However rare they are to be, the first is due at once.
    expect(sweep.figures().lateSeconds).toBe(59.999);
    clock.advance(1);
    await passesEnd(1, 0);
    expect(sweep.figures()).toMatchObject({ passes: 1, ageSeconds: 0, share: undefined });
    await passesEnd(2, 119).catch(() => undefined);
    expect(state().pass).toBe(1);
    await passesEnd(2, 2);
    expect(await told()).toEqual(['AuditSweepEnded', 'AuditSweepEnded']);
    // Until the next one is due, by its own timetable, it is not late.
    expect(sweep.figures().lateSeconds).toBe(0);
    clock.advance(3 * HOUR_MS);
    expect(sweep.figures()).toMatchObject({ ageSeconds: 3 * 3_600, lateSeconds: 3_600 });
  });

  it('begins at once after a break, whatever the time', async () => {
    started();
    await passesEnd(1, 2);
    await log.db.pool.query('UPDATE audit_tree SET size = 30');
    await log.tell('one', 'a disk was lost');
    await auditor.watch.look();
    await sign();
    await passesEnd(2, 2);
  });

  it('says what keeps it from going on, and tries again', async () => {
    await log.db.pool.query('ALTER TABLE audit_page RENAME TO audit_page_away');
    const sweep = started();
    await until('it waits', () => clock.waiting > 0);
    clock.advance(60_000);
    await until('it fails', () => sweep.troubles().length > 0);
    expect(sweep.troubles()).toMatchObject([{ name: 'audit sweep', reason: expect.stringContaining('audit_page') }]);
    await log.db.pool.query('ALTER TABLE audit_page_away RENAME TO audit_page');
    await passesEnd(1, 2);
    expect(sweep.troubles()).toEqual([]);
  });

  it('does not run where it is switched off', async () => {
    const sweep = started(0);
    await running;
    expect([clock.waiting, state().pass, sweep.figures().passes]).toEqual([0, 0, 0]);
    // None is overdue, for however long the auditor runs.
    clock.advance(9 * 24 * HOUR_MS);
    expect(sweep.figures().lateSeconds).toBeUndefined();
  });

  it('records what it finds once, and once that it is gone', async () => {
    await log.db.pool.query("UPDATE event SET data = data || convert_to(' ', 'UTF8') WHERE position = 7");
    const sweep = started(HOUR_MS);
    await passesEnd(2, 70);
    expect(sweep.troubles()).toMatchObject([
      { name: 'audit findings', reason: expect.stringMatching(/^1 open.*leaf 6/) },
      { name: 'audit not compared', reason: 'stream counts: the log is not what was signed' },
    ]);
    expect(sweep.figures().findings).toMatchObject({ event: 1, tile: 0 });
    await log.db.pool.query("UPDATE event SET data = rtrim(convert_from(data, 'UTF8'))::bytea WHERE position = 7");
    await passesEnd(4, 130);
    expect(sweep.troubles()).toEqual([]);
    expect(await told()).toEqual([
      ...['AuditFindingRecorded', 'AuditSweepEnded', 'AuditSweepEnded'],
      ...['AuditFindingGone', 'AuditSweepEnded', 'AuditSweepEnded'],
    ]);
  });

  it('leaves open what was found of the counts while it cannot look for it, and says so', async () => {
    await log.counting().advance();
    await sign();
    await log.db.pool.query('UPDATE audit_count_bucket SET hash = sha256(hash)');
    const sweep = started(HOUR_MS);
    await passesEnd(1, 2);
    expect(sweep.figures().findings).toMatchObject({ count: 1, event: 0 });
    await log.db.pool.query("UPDATE event SET data = data || convert_to(' ', 'UTF8') WHERE position = 7");
    await passesEnd(2, 70);
    expect(sweep.figures().findings).toMatchObject({ count: 1, event: 1 });
    const events = await log.store.readStream(SWEEP_STREAM);
    expect(events.map(({ type }) => type)).not.toContain('AuditFindingGone');
    const ended = events.filter(({ type }) => type === 'AuditSweepEnded').map(({ data }) => data['skipped']);
    expect(ended).toEqual([
      ['stream counts: the table audit_count_bucket has not the counts that were signed'],
      ['stream counts: the log is not what was signed'],
    ]);
  });

  it('leaves open what was found of a read model while it cannot compare it, and says so', async () => {
    const { pool } = log.db;
    await pool.query("INSERT INTO sent_document VALUES ('a', 'b')");
    const sweep = started(HOUR_MS);
    await passesEnd(1, 2);
    expect(sweep.figures().findings).toMatchObject({ read_model: 1 });
    await pool.query("COMMENT ON TABLE sent_document IS 'rebuild: its rows are older'");
    await passesEnd(2, 70);
    expect(sweep.figures().findings).toMatchObject({ read_model: 1 });
    expect(await told()).toEqual(['AuditFindingRecorded', 'AuditSweepEnded', 'AuditSweepEnded']);
    await pool.query('COMMENT ON TABLE sent_document IS NULL; DELETE FROM sent_document');
    await passesEnd(3, 70);
    expect(sweep.figures().findings).toMatchObject({ read_model: 0 });
  });

  it('tells of a table that was hidden from it', async () => {
    const { pool } = log.db;
    await pool.query("INSERT INTO sent_document VALUES ('a', 'b')");
    await pool.query("COMMENT ON TABLE sent_document IS 'rebuild: its rows are older'");
    const sweep = started(HOUR_MS);
    await passesEnd(1, 2);
    const reason = expect.stringMatching(/^sgtin-history: sent_document: its rows are older\. Run pedigree rebuild /);
    const expected = [{ name: 'audit not compared', since: state().ended?.at, reason }];
    expect(sweep.troubles()).toMatchObject(expected);
    expect(sweep.figures()).toMatchObject({ notCompared: 1 });
    const again = new RegularSweep({ ...parts(), everyMs: HOUR_MS, log: silent });
    expect(again.troubles()).toMatchObject(expected);
    await pool.query('COMMENT ON TABLE sent_document IS NULL; DELETE FROM sent_document');
    await passesEnd(2, 70);
    expect(sweep.troubles()).toEqual([]);
    expect(sweep.figures()).toMatchObject({ notCompared: 0 });
  });

  it('leaves open what was found of rows that are not told for the number of others', async () => {
    const { pool } = log.db;
    const put = (name: string): Promise<unknown> =>
      pool.query("INSERT INTO sent_document SELECT $1 || n, 'sent' FROM generate_series(10, 29) AS n", [name]);
    await put('m');
    started(HOUR_MS);
    await passesEnd(1, 2);
    await put('a');
    await passesEnd(2, 70);
    expect(await told()).not.toContain('AuditFindingGone');
    await pool.query('DELETE FROM sent_document');
    await passesEnd(3, 70);
    expect((await told()).filter((type) => type === 'AuditFindingGone')).toHaveLength(40);
  });

  it('begins at once where the last one ended at a time that has not come yet', async () => {
    started();
    await passesEnd(1, 2);
    const { ended, ...rest } = state();
    const wrong = new Date(clock.now().getTime() + 3_650 * 24 * HOUR_MS).toISOString();
    new StateFile(auditor.folder.path, silent).write({ ...rest, ended: { ...ended, at: wrong } as never });
    await passesEnd(2, 2);
  });

  it('says its own trouble for what it is, also while something is found', async () => {
    await log.db.pool.query("UPDATE event SET data = data || convert_to(' ', 'UTF8') WHERE position = 7");
    const away = log.db.url.replace(/\/[^/]+$/, '/no_such_database');
    const sweep = new RegularSweep({ ...parts(), connectionString: away, everyMs: HOUR_MS, log: silent });
    running = sweep.run(ending.signal);
    await until('it waits', () => clock.waiting > 0);
    clock.advance(60_000);
    await until('it fails', () => sweep.troubles().length > 1);
    expect(sweep.troubles()).toMatchObject([
      { name: 'audit findings', reason: expect.stringMatching(/^1 open, first: event: leaf 6/) },
      { name: 'audit sweep', reason: expect.stringContaining('no_such_database') },
    ]);
    expect(await told()).toEqual(['AuditFindingRecorded']);
  });

  it('says that a read model cannot be built again where an event cannot be read', async () => {
    const { pool } = log.db;
    await pool.query("UPDATE event SET type = 'DocumentConcluded', stream = 'document-1' WHERE position = 7");
    // The live tables have it, as they had the event that was there.
    await pool.query("INSERT INTO checkpoint VALUES ('projection:document-outcomes', 40, now())");
    const sweep = started(HOUR_MS);
    await passesEnd(1, 2);
    expect(sweep.troubles().map(({ name }) => name)).toEqual(['audit findings', 'audit not compared']);
    const found = state().findings.map(({ what, where, expected }) => [what, where, expected].join(' '));
    expect(found.some((one) => /^read_model read model \S+ that it can be built again/.test(one))).toBe(true);
  });

  it('is rid of an event that was deleted long ago when a person has told the break', async () => {
    await log.db.pool.query('DELETE FROM event WHERE position = 7');
    const sweep = started(HOUR_MS);
    await passesEnd(1, 2);
    expect(sweep.figures().findings.event).toBe(1);
    const { broken, difference } = await log.tell('one', 'no backup has it any more');
    expect([broken.differsAtLeaf, difference]).toEqual([
      6,
      expect.stringContaining('the first leaf that differs is 6'),
    ]);
    await auditor.watch.look();
    await sign();
    await passesEnd(2, 2);
    expect(sweep.figures().findings.event).toBe(0);
    expect(await told()).toContain('AuditFindingGone');
    await auditor.watch.look();
    expect(auditor.alarm.current()).toBeUndefined();
  });
});

describe('a sweep after a newer version', () => {
  it('knows what was found before, says that it cannot read it all, and tells when it is gone', async () => {
    await log.db.pool.query("UPDATE event SET data = '{}' WHERE position = 7");
    started();
    await passesEnd(1, 2);
    const [finding] = state().findings;
    expect(finding).toMatchObject({ what: 'event', isOpen: true });
    ending.abort();
    await running;
    const file = join(auditor.folder.path, 'sweep.json');
    const unknown = { ...finding, what: 'clock', where: 'the clock', cause: 'newer' };
    const newer = JSON.stringify({ ...state(), findings: [finding, unknown], recounted: 1 });
    writeFileSync(file, newer);
    ending = new AbortController();
    const errors: string[] = [];
    const log2 = { ...silent, error: (_: object, words: string) => errors.push(words) } as unknown as ServiceLog;
    const sweep = new RegularSweep({
      ...parts(new StateFile(auditor.folder.path, log2)),
      ...{ everyMs: 24 * HOUR_MS, log: log2 },
    });
    expect(sweep.figures().findings.event).toBe(1);
    expect(sweep.troubles().map(({ name }) => name)).toEqual(['audit findings', 'audit memory of findings']);
    expect(sweep.troubles()[1]?.reason).toMatch(/^sweep.json is damaged, or of a newer version: .* 2 findings$/);
    expect(errors).toHaveLength(1);
    const [copy = ''] = readdirSync(auditor.folder.path).filter((name) => name.startsWith('sweep.json.unread-'));
    expect(readFileSync(join(auditor.folder.path, copy), 'utf8')).toBe(newer);
    running = sweep.run(ending.signal);
    await passesEnd(2, 2);
    expect(sweep.troubles().map(({ name }) => name)).toEqual(['audit findings', 'audit not compared']);
    // One is told once; what this version does not look for is neither found nor gone.
    expect((await told()).filter((type) => type !== 'AuditSweepEnded')).toEqual(['AuditFindingRecorded']);
    expect(state().findings).toMatchObject([{ what: 'event' }, { what: 'clock', cause: 'newer', isOpen: true }]);
  });

  it('forgets nothing where its file is there and cannot be read, and says so', async () => {
    const file = join(auditor.folder.path, 'sweep.json');
    symlinkSync(`${file}.not-mounted`, file);
    const sweep = started();
    expect(sweep.troubles()).toMatchObject([
      { name: 'audit memory of findings', reason: expect.stringMatching(/ENOENT.*sweep\.json/) },
    ]);
    await until('it waits', () => clock.waiting > 0);
    clock.advance(60_000);
    await until('it cannot sweep', () => sweep.troubles()[1]?.name === 'audit sweep');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  });

  it('begins anew after a file that is no JSON, and says so until a pass has ended', async () => {
    writeFileSync(join(auditor.folder.path, 'sweep.json'), '{"format": "pedigree-sw');
    const sweep = started();
    expect(sweep.troubles()).toMatchObject([{ name: 'audit memory of findings' }]);
    await passesEnd(1, 2);
    expect(sweep.troubles()).toEqual([]);
  });
});

/** After so many saves in the log the process is gone. */
class Killed implements StateKeeper {
  private saves = 0;

  constructor(
    private readonly file: StateKeeper,
    private readonly most: number,
  ) {}

  read(): SweepState {
    return this.file.read();
  }

  write(next: SweepState): void {
    if (next.begun?.part === 'log' && (this.saves += 1) > this.most) throw new Error('killed');
    this.file.write(next);
  }
}

describe('a sweep that a break overtakes', () => {
  it('tells nothing of the tree of then, before the auditor has taken the break up', async () => {
    await log.write(2_200);
    await sign();
    const ended = new Sweep({ ...parts(), prefix: 'b', bytesPerSecond: 1 }).runPass();
    let isEnded = false;
    void ended.finally(() => (isEnded = true));
    await until('it waits behind a page', () => clock.waiting > 0);
    await log.db.pool.query('UPDATE audit_tree SET size = size - 1');
    await log.tell('one', 'a disk was lost');
    await until('it has ended', () => {
      if (clock.waiting > 0) clock.advance(10_000 * HOUR_MS);
      return isEnded;
    });
    expect([await ended, await told()]).toEqual(['ended_early', []]);
  });
});

describe('a sweep that is killed', () => {
  it('goes on at its place after each save, and tells each finding once', async () => {
    await log.write(2_200);
    await sign();
    await log.db.pool.query('DELETE FROM event WHERE position IN (7, 1500)');
    // Time passes at each look, so that every step is saved.
    const hurried = Object.assign(Object.create(clock) as VirtualClock, {
      monotonicMs: () => (hurriedMs += 3_000),
    });
    let hurriedMs = 0;
    const places: string[] = [];
    let outcome: PassOutcome | undefined;
    for (let kills = 0; outcome === undefined && kills < 20; kills += 1) {
      const sweep = new Sweep({
        ...parts(new Killed(new StateFile(auditor.folder.path, silent), 2)),
        clock: hurried,
        prefix: 'k',
      });
      outcome = await sweep.runPass().catch((error: Error) => {
        expect(error.message).toBe('killed');
        return undefined;
      });
      const { begun } = state();
      places.push(begun?.part === 'log' ? String(begun.log?.position ?? 0) : (begun?.part ?? 'ended'));
    }
    expect(outcome).toMatchObject({ pass: 1, findings: [{ what: 'event' }, { what: 'event' }] });
    // It never went back, and was killed in mid-log.
    expect(places.filter((one) => Number(one) > 0 && Number(one) < 2_200).length).toBeGreaterThan(0);
    const numbers = places.map(Number).filter((one) => !Number.isNaN(one));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    const recorded = (await log.store.readStream(SWEEP_STREAM)).filter(({ type }) => type === 'AuditFindingRecorded');
    expect(recorded.map(({ data }) => data)).toMatchObject([{ where: 'leaf 6' }, { where: 'leaf 1499' }]);
  }, 120_000);
});
