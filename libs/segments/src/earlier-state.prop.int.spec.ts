import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import { digestOfFile, Duck, FolderStore, parquet, quoted, type FileStore, type StoredFile } from '#duckdb';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { sized } from '../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { livesOf, packOf, placeOf, randomOf, writeLives, type DocumentOfLife } from '../test/lives.js';
import { STATE_RULES } from './earlier-state.js';
import { segmentsSchema } from './schema.js';
import { statesAt, writeNextSegment, type SegmentParts } from './segments.js';

const FIRST = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const RUNS = Number(process.env['PEDIGREE_RUNS'] ?? sized({ test: 2, soak: 30 }));
const STEPS = sized({ test: 3, soak: 6 });
const DOCUMENTS = 120;
const UP_TO = 10 * (DOCUMENTS + 1);
const TABLES =
  'movement_document, movement_effect, item_movement, containment, place_move, sent_document, segment, checkpoint';

let db: TestDatabase;
let folder: TemporaryFolder;
let parts: SegmentParts & { states: FileStore };
let outs = 0;

beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas, segmentsSchema]);
});
afterAll(async () => {
  await db.drop();
  await folder.remove();
});
beforeEach(async () => {
  await db.pool.query(`TRUNCATE ${TABLES}`);
  const own = join(folder.path, String((outs += 1)));
  parts = {
    pool: db.pool,
    files: new FolderStore(join(own, 'files')),
    states: new FolderStore(join(own, 'states')),
    duck: { memoryMb: 200, threads: 2, temporary: join(own, 'duck') },
    rows: 60,
  };
});

const digestAt = async (of: SegmentParts, at: number): Promise<string> => {
  const out = join(folder.path, `out-${(outs += 1)}`);
  return (await statesAt(of, { at: BigInt(at), out, types: typeKnowledge })).digest;
};
const bothAt = async (at: number): Promise<{ upon: string; anew: string }> => {
  const { states: _, ...without } = parts;
  return { upon: await digestAt(parts, at), anew: await digestAt(without, at) };
};
const live = (seed: number, plain: boolean) =>
  livesOf(seed, { packs: 40, boxes: 12, documents: DOCUMENTS, days: 6, plain });

describe('a state upon an earlier one', () => {
  it.each(Array.from({ length: RUNS }, (_, n) => FIRST + n))(
    'is the one that all movements give, wherever the log is cut (seed %d)',
    async (seed) => {
      const random = randomOf(seed);
      // Where whole places are moved, nearly every state is folded anew.
      await writeLives(db.pool, live(seed, random() < 0.9), UP_TO);
      let at = Math.floor(random() * 0.7 * UP_TO);
      await digestAt(parts, at);
      for (let step = 0; step < STEPS; step += 1) {
        // What was read from the tables may be in a segment the next time.
        if (random() < 0.5) await writeNextSegment(parts);
        at = Math.min(UP_TO, at + 1 + Math.floor(random() * 70));
        const { upon, anew } = await bothAt(at);
        expect({ seed, at, digest: upon }).toEqual({ seed, at, digest: anew });
      }
    },
  );

  it('follows a document that counts no longer, and one that was accepted before what was known', async () => {
    // Position, minute of acceptance, place, pack, and the position from which on it counts no longer.
    const documents = [
      [10, 10, 0, 0],
      [20, 20, 1, 0, 35],
      [30, 30, 2, 1],
      [40, 25, 3, 2],
    ];
    await writeLives(db.pool, documents.map(document), 60);
    const first = await digestAt(parts, 30);
    const closed = await bothAt(36);
    const late = await bothAt(50);
    expect([closed.upon, late.upon]).toEqual([closed.anew, late.anew]);
    expect(new Set([first, closed.upon, late.upon]).size).toBe(3);
  });

  it('keeps the rows of packs that nothing has touched, and takes no file with another SHA-256', async () => {
    await writeLives(db.pool, live(7, true), UP_TO);
    await digestAt(parts, UP_TO - 20);
    const digest = await digestAt(parts, UP_TO - 10);
    await spoil({ andManifest: false });
    expect(await digestAt(parts, UP_TO - 10)).toBe(digest);
    await spoil({ andManifest: true });
    expect(await digestAt(parts, UP_TO - 10)).not.toBe(digest);
  });

  it.each([
    ['by other rules', async () => changeManifest((told) => ({ ...told, rules: 0 }))],
    ['of other movements', async () => void (await db.pool.query(`UPDATE movement_effect SET status = 'paused_x'`))],
    ['that is no manifest', async () => writeFile(parts.states.path('last', 'base.json'), '{')],
    ['of a later position', async () => changeManifest((told) => ({ ...told, at: String(UP_TO) }))],
  ])('is not built upon one %s', async (_, change) => {
    await writeLives(db.pool, live(7, true), UP_TO);
    await digestAt(parts, UP_TO - 10);
    await spoil({ andManifest: true });
    await change();
    const { upon, anew } = await bothAt(UP_TO - 10);
    expect(upon).toBe(anew);
  });

  it('has rules whose number rises when any pack gets another state', async () => {
    await writeLives(db.pool, live(7, false), UP_TO);
    // Another digest means: raise STATE_RULES, so that no state by the rules of before is built upon.
    expect([STATE_RULES, await digestAt(parts, UP_TO)]).toEqual([
      1,
      'dd951968c38516f2b9d735ba360f6ae286bc9764cebaeb2a65cc2c45c444b833',
    ]);
  });

  it('keeps one set, that of the furthest position', async () => {
    await writeLives(db.pool, live(7, true), UP_TO);
    for (const at of [500, 900, 700]) await digestAt(parts, at);
    expect(await parts.states.sets()).toEqual(['last']);
    expect(JSON.parse(await readFile(parts.states.path('last', 'base.json'), 'utf8'))).toMatchObject({ at: '900' });
  });
});

function document([knownFrom, minute, place, pack, knownTo]: readonly number[]): DocumentOfLife {
  const at = Date.parse('2026-03-01T08:00:00Z') + (minute ?? 0) * 60_000;
  return {
    ...{ knownFrom: knownFrom ?? 0, orderedAt: at, recordedAt: at, operation: knownFrom ?? 0, docType: 702 },
    ...{ subject: placeOf(8), counterparty: placeOf(9), ...(knownTo === undefined ? {} : { knownTo }) },
    effects: [{ result: 'applied', status: 'in_circulation', place: placeOf(place ?? 0) }],
    rows: [[0, packOf(pack ?? 0)]],
  };
}

interface Told {
  files: StoredFile[];
}

async function changeManifest(change: (told: Told) => object): Promise<void> {
  const file = parts.states.path('last', 'base.json');
  await writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, 'utf8')) as Told)));
}

/** Puts other statuses into the state that was kept, and maybe their digests into its manifest. */
async function spoil({ andManifest }: { andManifest: boolean }): Promise<void> {
  const duck = await Duck.open(parts.duck);
  const files: StoredFile[] = [];
  for (let bucket = 0; bucket < 16; bucket += 1) {
    const name = `packs-${bucket.toString(16)}.parquet`;
    const file = parts.states.path('last', name);
    await duck.run(`CREATE TABLE t AS SELECT * REPLACE ('spoiled' AS status) FROM ${parquet([file])};
      COPY t TO ${quoted(file)} (FORMAT parquet); DROP TABLE t`);
    files.push({ name, ...(await digestOfFile(file)) });
  }
  await duck.close();
  if (andManifest) await changeManifest((told) => ({ ...told, files }));
}
