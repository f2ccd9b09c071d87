import { expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '#postgres';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../test/support/database.js';
import { dump, READ_MODELS, rowsOf, writeGolden, type Golden } from './golden-database.js';
import { liveThrough } from './golden-story.js';
import { GoldenWorld, WORKER_SCHEMAS } from './golden-world.js';
import { openStores } from './test-harness.js';

/**
 * Writes the database that this version leaves to golden.json.br among the temporary files. To be run on the version
 * before a change of what is stored: `npm run jest -- --testMatch='<rootDir>/apps/worker/test/golden-writer.ts'`.
 */
it('the golden database is written', async () => {
  const db = await testDatabase();
  const stores = await openStores(db.pool);
  const queue = new PostgresTaskQueue({ pool: db.pool });
  try {
    await migrate(db.pool, WORKER_SCHEMAS);
    const parts = { ...stores, pool: db.pool, queue };
    const world = new GoldenWorld(parts);
    const { ids } = await liveThrough(world);
    const before = { ids, registry: world.left(), tables: await dump(db.pool) };
    const next = new GoldenWorld(parts);
    next.resume(before.registry);
    await next.conclude();
    const known = new Set((before.tables['evidence'] ?? []).map((row) => row['sha256']));
    const position = Math.max(...(before.tables['event'] ?? []).map((row) => Number(row['position'])));
    const golden: Golden = {
      ...before,
      concluded: {
        event: (await rowsOf(db.pool, 'event')).filter((row) => Number(row['position']) > position),
        evidence: (await rowsOf(db.pool, 'evidence')).filter((row) => !known.has(row['sha256'])),
        ...(await dump(db.pool, READ_MODELS)),
      },
    };
    expect(next.failed).toEqual([]);
    writeGolden(join(tmpdir(), 'golden.json.br'), golden);
  } finally {
    await queue.close();
    await stores.close();
    await db.drop();
  }
}, 900_000);
