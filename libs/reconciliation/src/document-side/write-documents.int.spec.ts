import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { bucketFiles } from '../snapshots/manifest.js';
import { writeDocumentSide } from './write-documents.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const BOX = `04601234567890001${checkDigitOf('04601234567890001')}`;
const NUMBER = `04601234567890002${checkDigitOf('04601234567890002')}`;
const LIMITS = { memoryMb: 200, threads: 1 };
const DAY_MS = 86_400_000;
const MOMENT = '2026-11-23T05:00:00.000Z';
const daysAgo = (days: number): string => new Date(Date.parse(MOMENT) - days * DAY_MS).toISOString();

let db: TestDatabase;
let folder: TemporaryFolder;

/** The tables of item claims, which are a library above this one. */
const CLAIMS = `CREATE TABLE claim_holder (id text PRIMARY KEY, number bigint);
  CREATE TABLE item_claim (item text, holder bigint, is_exclusive boolean)`;

interface Told {
  document: string;
  docType?: number;
  registered: number;
  days: number;
  /** Log position of its conclusion; absent: it has none. */
  concluded?: number;
  outcome?: string;
  cause?: string;
  items: string[];
  refused?: boolean;
}

async function register({ document, docType = 415, registered, days }: Told): Promise<void> {
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type, subject_id,
       operation_date, item_count, phase, waiting_for, held_for, attempts, error_count, document_sha256, duplicate,
       registered_at)
     VALUES ($1, $2, $2, $1, 'main', $4, 'P1', '', 1, 'sent', '[]', '[]', 1, 0, '', false, $3)`,
    [document, registered, daysAgo(days), docType],
  );
}

async function write(told: Told): Promise<void> {
  await register(told);
  await follow(told);
}

/** What claims and history make of it. */
async function follow({ document, docType = 415, registered, days, items, ...end }: Told): Promise<void> {
  const { concluded, outcome = 'accepted', cause = null, refused = true } = end;
  if (concluded === undefined) {
    await db.pool.query('INSERT INTO claim_holder VALUES ($1, $2)', [document, registered]);
    await db.pool.query('INSERT INTO item_claim SELECT unnest($1::text[]), $2, true', [items, registered]);
    return;
  }
  await db.pool.query(
    `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, cause, subject_id, operation_date,
       ordered_at, document_sha256, items, recorded_at)
     VALUES ($1, $2, $6, $3, $4, 'P1', '', $5, '', 1, $5)`,
    [concluded, document, outcome, cause, daysAgo(days), docType],
  );
  const result = refused ? 'refused' : 'applied';
  await db.pool.query('INSERT INTO movement_effect (known_from, effect, result) VALUES ($1, 0, $2)', [
    concluded,
    result,
  ]);
  await db.pool.query(
    'INSERT INTO item_movement (known_from, effect, ordinal, item) SELECT $1, 0, 0, unnest($2::text[])',
    [concluded, items],
  );
}

beforeAll(async () => {
  folder = await temporaryFolder();
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  await db.pool.query(CLAIMS);
  const rejected = { outcome: 'rejected', refused: true };
  await write({ document: 'flying', registered: 10, days: 1, items: [pack(1), BOX] });
  await write({ document: 'accepted', registered: 11, days: 1, concluded: 12, refused: false, items: [pack(2)] });
  await write({ document: 'rejected', registered: 13, days: 2, concluded: 20, ...rejected, items: [pack(3), pack(4)] });
  await write({ document: 'in-part', registered: 14, days: 2, concluded: 21, outcome: 'partial', items: [pack(5)] });
  await write({
    ...{ document: 'halted', registered: 15, days: 2, concluded: 22, outcome: 'failed', cause: 'not_processed' },
    items: [pack(6)],
  });
  await write({ document: 'long-ago', registered: 1, days: 200, concluded: 2, ...rejected, items: [pack(7)] });
  await write({ document: 'again', registered: 30, days: 0, items: [pack(4)] });
  await write({ document: 'late', registered: 31, days: 0, concluded: 50, ...rejected, items: [pack(8)] });
  await db.pool.query("INSERT INTO item_claim VALUES ('046000000000000000', 10, false)");
  // Questions, and numbers that are reserved.
  await write({ document: 'asking', docType: 210, registered: 32, days: 0, items: [pack(1), pack(11)] });
  await write({
    document: 'asked',
    docType: 210,
    registered: 33,
    days: 0,
    concluded: 34,
    ...rejected,
    items: [pack(3)],
  });
  await write({
    ...{ document: 'reserved', docType: 213, registered: 35, days: 0, concluded: 36, outcome: 'failed' },
    ...{ cause: 'not_processed', items: [NUMBER] },
  });
  await write({ document: 'opens', docType: 220, registered: 37, days: 0, concluded: 55, items: [NUMBER] });
});
afterAll(async () => {
  await db.drop();
  await folder.remove();
});

const read = (checkpoint: string, position: number) =>
  db.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())
     ON CONFLICT (name) DO UPDATE SET position = EXCLUDED.position`,
    [checkpoint, position],
  );

async function side(
  at: bigint,
  name: string,
  wait = (): Promise<void> => Promise.reject(new Error('nothing is waited for')),
): Promise<{ digest: string; rows: Record<string, string> }> {
  const out = join(folder.path, name);
  const clock = { wait };
  const { digest } = await writeDocumentSide({ pool: db.pool, at, moment: MOMENT, out, duck: LIMITS, clock });
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'duck') });
  try {
    const files = bucketFiles(out);
    const rows = await duck.rows<{ item: string; standing: string; document: string; position: string }>(
      `SELECT item, standing, document, position FROM ${parquet(files)} ORDER BY item`,
    );
    return {
      digest,
      rows: Object.fromEntries(
        rows.map(({ item, standing, document, position }) => [item, `${standing} ${document} ${position}`]),
      ),
    };
  } finally {
    await duck.close();
  }
}

describe('the side of documents', () => {
  it('has the newest document without a good end for each item that it names', async () => {
    const { rows } = await side(60n, 'now');
    expect(rows).toEqual({
      [pack(1)]: 'in_flight flying 10',
      [BOX]: 'in_flight flying 10',
      [pack(3)]: 'refused rejected 20',
      [pack(4)]: 'in_flight again 30',
      [pack(5)]: 'refused in-part 21',
      [pack(6)]: 'halted halted 22',
      [pack(8)]: 'refused late 50',
    });
  });

  it('tells what was in flight at an earlier position, and has the same digest whenever it is asked', async () => {
    const { rows, digest } = await side(31n, 'then');
    expect(rows[pack(8)]).toBe('in_flight late 31');
    expect((await side(31n, 'then-again')).digest).toBe(digest);
    const earlier = await side(14n, 'earlier');
    expect(earlier.rows[pack(3)]).toBe('in_flight rejected 13');
    expect(earlier.rows[pack(4)]).toBe('in_flight rejected 13');
    expect(earlier.rows[pack(6)]).toBeUndefined();
  });

  it('has no document that only asks or reserves numbers, and not what it would hide', async () => {
    for (const at of [50n, 60n]) {
      const { rows } = await side(at, `asked-${at}`);
      expect([rows[pack(1)], rows[pack(3)]]).toEqual(['in_flight flying 10', 'refused rejected 20']);
      expect([rows[pack(11)], rows[NUMBER]]).toEqual([undefined, undefined]);
    }
  });

  it('loses no document that ends meanwhile: claims are read first, and the history has to follow them', async () => {
    const ending: Told = { document: 'ending', registered: 40, days: 0, concluded: 70, items: [pack(9)] };
    await register(ending);
    await read('item-claims', 70);
    await read('projection:sgtin-history', 60);
    const { rows } = await side(60n, 'meanwhile', async () => {
      await follow(ending);
      await read('projection:sgtin-history', 70);
    });
    expect(rows[pack(9)]).toBe('in_flight ending 40');
  });

  it('waits for what has not read up to the position yet, and says so when it stands', async () => {
    const late: Told = { document: 'late-claim', registered: 80, days: 0, items: [pack(10)] };
    await read('projection:sgtin-history', 80);
    await read('projection:document-outcomes', 79);
    const { rows } = await side(80n, 'late-claim', async () => {
      await write(late);
      await read('item-claims', 80);
      await read('projection:document-outcomes', 80);
    });
    expect(rows[pack(10)]).toBe('in_flight late-claim 80');
    await expect(side(81n, 'behind', () => Promise.resolve())).rejects.toThrow('behind the log: is a worker running?');
  });
});
