import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import { migrate } from '#postgres';
import { PostgresReadModels, readModelSchemas, type ReadModels } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { sized } from '../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { livesOf, packOf, writeLives, type DocumentOfLife } from '../test/lives.js';
import { Duck, FolderStore, parquet } from '#duckdb';
import { segmentsSchema } from './schema.js';
import { statesAt, writeNextSegment, type SegmentParts } from './segments.js';

const FIRST = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
/** Every second seed is plain: two in a row are one of each. */
const RUNS = Number(process.env['PEDIGREE_RUNS'] ?? sized({ test: 2, soak: 20 }));
const PACKS = 25;
const DOCUMENTS = 90;

let db: TestDatabase;
let folder: TemporaryFolder;

beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas, segmentsSchema]);
});
afterAll(async () => {
  await db.drop();
  await folder.remove();
});

const TABLES = 'movement_document, movement_effect, item_movement, containment, sent_document, segment, checkpoint';

interface State {
  item: string;
  status: string | null;
  place: string | null;
  container: string | null;
  known_from: string | null;
  uncertain: boolean;
}

/** What the history of one pack says: the other way to the same answer. */
async function single(models: ReadModels, item: string, knownAt: bigint): Promise<State | undefined> {
  const told = await models.sgtinHistory(item, { knownAt });
  if (told === undefined) return undefined;
  const applied = told.movements.filter(({ result }) => result === 'applied');
  const state = await models.packState(item, { knownAt });
  return {
    item,
    status: told.status ?? null,
    place: told.place ?? null,
    container: told.container ?? null,
    known_from: applied.at(-1)?.knownAt ?? null,
    uncertain: state?.uncertain.some(({ parts }) => parts.includes('status')) === true,
  };
}

async function bulk(parts: SegmentParts, at: bigint, name: string): Promise<State[]> {
  const out = join(folder.path, name);
  const states = await statesAt(parts, { at, out, types: typeKnowledge });
  const duck = await Duck.open(parts.duck);
  try {
    return await duck.rows<State>(
      `SELECT item, status, place, container, known_from::VARCHAR AS known_from, uncertain
       FROM ${parquet(states.buckets.map(({ file }) => join(out, file)))} ORDER BY item`,
    );
  } finally {
    await duck.close();
  }
}

describe('the state of all packs', () => {
  it.each(Array.from({ length: RUNS }, (_, n) => FIRST + n))(
    'agrees with the history of each pack, now and at past positions (seed %d)',
    async (seed) => {
      await db.pool.query(`TRUNCATE ${TABLES}`);
      const told: DocumentOfLife[] = livesOf(seed, {
        packs: PACKS,
        boxes: 6,
        documents: DOCUMENTS,
        days: 6,
        plain: seed % 2 === 1,
      });
      const upTo = 10 * (DOCUMENTS + 1);
      await writeLives(db.pool, told, upTo);
      const parts: SegmentParts = {
        pool: db.pool,
        files: new FolderStore(join(folder.path, `files-${seed}`)),
        duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
        rows: 60,
      };
      while ((await writeNextSegment(parts)) !== 'none');
      const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
      for (const part of sized({ test: [0.4, 0.85, 1], soak: [0.15, 0.4, 0.6, 0.85, 1] })) {
        const at = BigInt(Math.floor(part * upTo));
        const expected: State[] = [];
        for (let n = 0; n < PACKS; n += 1) {
          const one = await single(models, packOf(n), at);
          if (one !== undefined) expected.push(one);
        }
        expected.sort((a, b) => (a.item < b.item ? -1 : 1));
        expect({ seed, at, states: await bulk(parts, at, `states-${seed}-${at}`) }).toEqual({
          seed,
          at,
          states: expected,
        });
      }
    },
  );
});
