import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { installationSchema, migrate, type Queryable } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { ACCESS_ENTRY } from './access-log/row.js';
import { Entity, getMetadataArgsStorage } from './entity.js';
import './projections.js';
import { readModelSchemas } from './schema.js';
import { column, Table } from './table.js';

type Colour = 'red' | 'green';

/** Held by the compiler: a directive that finds no error is one. */
@Entity('not_a_table')
class Checked {
  @column('text') colour!: Colour;
  @column('text', { nullable: true }) note!: string | null;
  @column('bigint', { nullable: true, insert: false }) end?: bigint | null;
  // @ts-expect-error NULL cannot come from this column
  @column('text') phase!: Colour | null;
  // @ts-expect-error NULL can come from this one
  @column('text', { nullable: true }) title!: string;
  // @ts-expect-error a bigint comes as one
  @column('bigint') position!: string;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase([installationSchema]);
  const before = await tables();
  await migrate(db.pool, readModelSchemas);
  made = (await tables()).filter((name) => !before.includes(name));
});
afterAll(() => db.drop());

/** Tables that the migrations of the read models make; the partitions of one are that one. */
let made: string[];

async function tables(): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition ORDER BY relname`,
  );
  return rows.map(({ name }) => name);
}

const entities = getMetadataArgsStorage()
  .tables.filter(({ target }) => target !== Checked)
  .map(({ target }) => new Table(target as new () => object));

type Line = Record<'table_name' | 'column_name' | 'type' | 'nullable' | 'key', unknown>;

/** What the database has, a line a column. */
async function migrated(queryable: Queryable = db.pool): Promise<Line[]> {
  const { rows } = await queryable.query<Line>(
    `SELECT c.table_name, c.column_name, c.data_type AS type, c.is_nullable = 'YES' AS nullable,
        EXISTS (SELECT FROM information_schema.key_column_usage k JOIN information_schema.table_constraints t
          USING (constraint_schema, constraint_name) WHERE t.constraint_type = 'PRIMARY KEY'
          AND k.table_name = c.table_name AND k.column_name = c.column_name) AS key
      FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.table_name = ANY ($1::text[])`,
    [made],
  );
  return sorted(rows);
}

/** What the entities say of the same. */
const defined = (): Line[] =>
  sorted(
    entities.flatMap(({ name, columns }) =>
      columns.map((one) => ({
        table_name: name,
        column_name: one.name,
        type: SPELT_OUT[one.type] ?? one.type,
        nullable: one.isNullable,
        key: one.isKey,
      })),
    ),
  );

/** As the catalogue spells it. */
const SPELT_OUT: Record<string, string> = { timestamptz: 'timestamp with time zone' };

const sorted = (lines: Line[]): Line[] =>
  lines.toSorted((a, b) => (`${a.table_name}.${a.column_name}` < `${b.table_name}.${b.column_name}` ? -1 : 1));

describe('the entities are the tables that the migrations make', () => {
  it('every table of a read model has one entity, and every entity a table', () => {
    expect(entities.map(({ name }) => name).sort()).toEqual(made);
    expect(made.length).toBeGreaterThan(10);
  });

  it('with every column, its type, whether it may be NULL, and the key', async () => {
    expect(defined()).toEqual(await migrated());
  });

  it.each([
    ['a column more', 'ALTER TABLE document_group ADD COLUMN planted text'],
    ['a column less', 'ALTER TABLE inbound_document DROP COLUMN problem'],
    ['another type', 'ALTER TABLE movement_effect ALTER COLUMN effect TYPE bigint'],
    ['NULL where there was none', 'ALTER TABLE document_open ALTER COLUMN phase DROP NOT NULL'],
    ['none where there was NULL', 'ALTER TABLE document_outcome ALTER COLUMN cause SET NOT NULL'],
    ['another key', 'ALTER TABLE sent_document DROP CONSTRAINT sent_document_pkey'],
  ])('and not with %s', async (_, change) => {
    const client = await db.pool.connect();
    await client.query('BEGIN');
    await client.query(change);
    const changed = await migrated(client);
    await client.query('ROLLBACK');
    client.release();
    expect(defined()).not.toEqual(changed);
    expect(defined()).toEqual(await migrated());
  });
});

it('a text that was cut within a character holds up no table: it is kept in jsonb as it is in a text', async () => {
  // What looks like its escape is a text as any other, behind one backslash and behind two.
  const whole = '\u{1F600} \\ud83d \\\\ud83d ';
  const [cut, kept] = [`${whole}\ud83d`, `${whole}\ufffd`];
  const actor = { actorKind: 'person' as const, actorName: cut, authenticatedBy: 'api-key' };
  const event = { position: 1n, stream: 's', version: 0, type: 'T', kind: 'export' as const, at: new Date(0) };
  await ACCESS_ENTRY.write(db.pool, [
    { ...event, ...actor, reason: null, objects: [cut, '\udc00\ud800'], details: { [cut]: cut } },
  ]);
  const { rows } = await db.pool.query(`SELECT ${ACCESS_ENTRY.select()} FROM access_entry`);
  expect(rows).toMatchObject([{ actorName: kept, objects: [kept, '\ufffd\ufffd'], details: { [kept]: kept } }]);
});
