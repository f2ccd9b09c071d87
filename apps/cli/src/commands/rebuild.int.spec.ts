import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { documentReading, typeKnowledge } from '#documents';
import { documentStream } from '#domain';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { projections } from '#read-models';
import { segmentParts, segments, statesAt, writeNextSegment } from '#segments';
import { catchUpProjection, unfinishedCopies, type Projection } from '#subscriptions';
import { buildPrograms, repositoryFile } from '../../../../test/scenarios/built-programs.js';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { allSchemas } from '../schemas.js';
import { progressWords } from './rebuild.js';

const DOCUMENTS = 600;
const ITEMS = 100;

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
let packs: Projection;

beforeAll(async () => {
  await buildPrograms();
  [db, folder] = [await testDatabase(allSchemas()), await temporaryFolder()];
  store = new PostgresEventStore({ pool: db.pool });
  const evidence = new PostgresEvidenceStore({ pool: db.pool });
  await fill(evidence);
  packs = projections({ evidence, documents: documentReading(), store }).find(
    ({ name }) => name === 'sgtin-history',
  ) as Projection;
  await catchUpProjection({ projection: packs, store, pool: db.pool });
}, 600_000);
afterAll(async () => {
  await store?.close();
  await db?.drop();
  await folder?.remove();
});

async function fill(evidence: PostgresEvidenceStore): Promise<void> {
  const metadata = {
    participant: 'test',
    actor: { kind: 'system', name: 'test', authenticatedBy: 'process' },
    softwareVersion: '0',
    profile: 'test',
    effectiveAt: '2026-01-15T09:00:00.000Z',
    correlationId: 'test',
    causationId: 'test',
  } as const;
  const receipt = Buffer.from(
    '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T06:10:00.000Z">' +
      '<operation>701</operation><operation_id>one</operation_id><operation_result>Accepted</operation_result>' +
      '</result></documents>',
  );
  const receiptSha256 = await evidence.put(receipt, 'application/xml');
  for (let n = 0; n < DOCUMENTS; n += 1) {
    const documentSha256 = await evidence.put(Buffer.from(documentXml(n)), 'application/xml');
    const eventOf = (type: string, data: object): NewEvent => ({
      ...{ id: crypto.randomUUID(), type, schemaVersion: 1, metadata },
      data,
    });
    const registered = {
      ...{ requestId: `test-${n}`, commandId: `command-${n}`, account: 'main', docType: 701, documentSha256 },
      ...{ byteLength: 1, itemCount: ITEMS, subjectId: '00000000000464', operationDate: '2026-01-15', after: [] },
    };
    const concluded = { outcome: 'accepted', docType: 701, acceptedAt: '2026-01-15T06:10:00.000Z' };
    await store.append(documentStream(`test-${n}`), 'none', [
      eventOf('DocumentRegistered', registered),
      eventOf('DocumentConcluded', { ...concluded, documentSha256, receiptSha256 }),
    ]);
  }
}

function documentXml(n: number): string {
  const items = Array.from(
    { length: ITEMS },
    (_, item) => `<sgtin>04600000000015B${String(n * ITEMS + item).padStart(12, '0')}</sgtin>`,
  );
  return (
    '<documents version="1.38"><accept action_id="701"><subject_id>00000000000464</subject_id>' +
    '<counterparty_id>00000000000470</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date>' +
    `<order_details>${items.join('')}</order_details></accept></documents>`
  );
}

interface Run {
  child: ChildProcess;
  said(): string;
  ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
}

const environment = (): Record<string, string> => ({ DATABASE_URL: db.url, DATA_DIR: join(folder.path, 'data') });

/** `pedigree rebuild` in a process of its own: one that can be killed. */
function rebuild(...args: string[]): Run {
  const child = spawn(process.execPath, [repositoryFile('dist/apps/cli/src/main.js'), 'rebuild', ...args], {
    env: { PATH: process.env['PATH'], ...environment() },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, stdout, stderr }));
  return { child, ended, said: () => stderr };
}

/** The same in this process. */
const rebuildHere = (...args: string[]) => commandHere(['rebuild', ...args], environment());

const dump = async (): Promise<string[]> =>
  (
    await db.pool.query<{ line: string }>(
      'SELECT row(m.*)::text AS line FROM item_movement m UNION ALL SELECT row(d.*)::text FROM movement_document d ' +
        'ORDER BY 1',
    )
  ).rows.map(({ line }) => line);
const copyAt = async (): Promise<bigint> => (await unfinishedCopies(db.pool, ['sgtin-history']))[0]?.position ?? 0n;

describe('pedigree rebuild', () => {
  it('is killed twice, goes on each time, and ends with the tables that were there', async () => {
    const before = await dump();
    expect(before).toHaveLength(DOCUMENTS * (ITEMS + 1));
    for (const from of [0n, 1n]) {
      const run = rebuild('sgtin-history');
      const begun = await copyAt();
      expect(begun >= from).toBe(true);
      await until('the copy has a page more', async () => (await copyAt()) > begun);
      run.child.kill('SIGKILL');
      await run.ended;
      expect(await dump()).toEqual(before);
    }
    const left = await copyAt();
    expect(left).toBeGreaterThan(0n);
    const { status, stdout, stderr } = await rebuildHere('sgtin-history', '--json');
    expect([status, stderr]).toEqual([0, expect.stringContaining('sgtin-history: an earlier run goes on')]);
    expect(JSON.parse(stdout)).toMatchObject({
      model: 'sgtin-history',
      position: String(await store.head()),
      resumed: true,
    });
    expect(await dump()).toEqual(before);
  }, 300_000);

  it('lists the models, refuses a second run and names that do not exist, and forgets what is discarded', async () => {
    const running = rebuild('sgtin-history');
    await until('the copy has a page more', async () => (await copyAt()) > 0n);
    // It stands still, so that it does not end while the second one waits for it.
    running.child.kill('SIGSTOP');
    const second = await rebuildHere('sgtin-history');
    expect([second.status, second.stderr]).toEqual([1, expect.stringContaining('another process rebuilds')]);
    running.child.kill('SIGKILL');
    await running.ended;
    const { stdout } = await rebuildHere('--json');
    expect(JSON.parse(stdout)).toContainEqual({
      model: 'sgtin-history',
      position: String(await store.head()),
      lag: '0',
      unfinished_copy: expect.stringMatching(/^[1-9]\d*$/),
      older_rows: [],
    });
    expect((await rebuildHere('sgtin-history', '--discard')).status).toBe(0);
    expect(await unfinishedCopies(db.pool, ['sgtin-history'])).toEqual([]);
    const wrong = await rebuildHere('packs');
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('no read model is called packs')]);
    expect(await rebuildHere('all')).toMatchObject({ status: 0 });
  }, 300_000);

  it('lists the tables that an upgrade left to be rebuilt, until they are', async () => {
    const why = 'an older version took what is moved between own places for in circulation';
    await db.pool.query(`COMMENT ON TABLE movement_effect IS 'rebuild: ${why}'`);
    const listed = async () => JSON.parse((await rebuildHere('--json')).stdout) as { older_rows: unknown[] }[];
    expect((await listed()).filter(({ older_rows: rows }) => rows.length > 0)).toEqual([
      expect.objectContaining({ model: 'sgtin-history', older_rows: [{ table: 'movement_effect', why }] }),
    ]);
    const { status, stderr } = await rebuildHere();
    expect([status, stderr]).toEqual([0, `movement_effect: ${why}\nRun pedigree rebuild sgtin-history\n`]);
    expect((await rebuildHere('sgtin-history')).status).toBe(0);
    expect((await listed()).flatMap(({ older_rows: rows }) => rows)).toEqual([]);
  }, 300_000);

  it('has segments written anew, which an older version wrote from what it took the documents for', async () => {
    const settings = { folder: join(folder.path, 'segments'), memoryMb: 200, threads: 1 };
    const parts = { ...segmentParts(db.pool, settings), rows: ITEMS * 100 };
    const digest = async (out: string): Promise<string> =>
      (await statesAt(parts, { out: join(folder.path, out), types: typeKnowledge })).digest;
    const writeAll = async (): Promise<number> => {
      while ((await writeNextSegment(parts)) !== 'none');
      return (await segments(db.pool)).length;
    };
    const right = await digest('right');
    await db.pool.query(`UPDATE movement_effect SET status = 'of_an_older_version'`);
    const written = await writeAll();
    expect([written > 3, await digest('old')]).toEqual([true, expect.not.stringMatching(right)]);
    expect(await rebuildHere('sgtin-history')).toMatchObject({ status: 0 });
    // From the tables, until the reconciler has written them.
    expect(await digest('rebuilt')).toBe(right);
    expect([await writeAll(), await digest('written')]).toEqual([written, right]);
  }, 300_000);
});

it('progress is said with a speed and the time that is left', () => {
  const progress = { position: 500n, head: 2_000n, share: 0.25 };
  expect(progressWords(progress, 'event')).toBe('25.0 % (500 of 2000 events)');
  const left = (secondsLeft: number): string => progressWords({ ...progress, perSecond: 9.6, secondsLeft }, 'event');
  expect(left(80.2)).toBe('25.0 % (500 of 2000 events), 10 events/s, about 81 s left');
  expect([left(600), left(9_000)]).toEqual([
    expect.stringContaining('about 10 min left'),
    expect.stringContaining('about 2.5 h left'),
  ]);
});
