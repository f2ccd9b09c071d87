import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { startAuditor, type RunningAuditor } from '../../../auditor/src/auditor.js';
import { auditorConfig } from '../../../auditor/src/config.js';
import type { Finding } from '../../../auditor/src/sweep/finding.js';
import { AuditorFolder } from '../../../auditor/src/memory/folder.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { newSigningKey } from '#merkle';
import { newestCheckpoint } from '#sealed-log';
import { cliConfig } from '../config.js';
import { allSchemas } from '../schemas.js';
import { checkAudit } from './audit-check.js';

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex');
let state = Number.parseInt(seed, 16) % 2 ** 31;
const below = (n: number): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % n;

let harness: TestHarness;
let folder: TemporaryFolder;
let auditor: RunningAuditor;
let printed: string[];
let sent = 0;

const env = (): NodeJS.ProcessEnv => ({
  DATABASE_URL: harness.db.url,
  DATA_DIR: folder.path,
  AUDIT_FOLDER: folder.path,
  AUDIT_CHECKPOINT_SECONDS: '1',
  // The auditor's own sweep, which begins after a minute, would tell of itself on a slow machine.
  AUDIT_SWEEP_HOURS: '0',
  LOG_LEVEL: 'silent',
});

beforeAll(async () => {
  process.stdout.write(`SEED=${seed}\n`);
  [harness, folder] = await Promise.all([
    testDatabase(allSchemas()).then((db) => TestHarness.start(db)),
    temporaryFolder(),
  ]);
  writeFileSync(join(folder.path, 'key.pem'), newSigningKey());
  auditor = await startAuditor(auditorConfig(env()));
  for (let n = 0; n < 6; n += 1) await send();
  await allSigned();
}, 120_000);
afterAll(async () => {
  await auditor.stop();
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

async function send(): Promise<void> {
  const id = `command-${(sent += 1)}`;
  await harness.post({ command_id: id, reference: id, xml: arrival() });
  await harness.run(id, [], { projected: true });
}

const sql = (text: string) => harness.db.pool.query(text);
const allSigned = (): Promise<void> =>
  until('everything is signed', async () => {
    const { rows } = await sql('SELECT position AS head FROM event_counter');
    const signed = BigInt((await newestCheckpoint(harness.db.pool))?.size ?? 0);
    return (
      signed >= (rows[0] as { head: bigint }).head && new AuditorFolder(folder.path).read().checkpoint !== undefined
    );
  });

interface Checked {
  events: number;
  evidence: number;
  rows: number;
  findings: Finding[];
  skipped: string[];
}

async function check(): Promise<[number, Checked]> {
  printed = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  const code = await checkAudit(cliConfig(env()), { json: true });
  jest.restoreAllMocks();
  return [code, JSON.parse(printed.at(-1) ?? '') as Checked];
}

/** Another value of each type that read models have. */
const OTHER: Record<string, string> = {
  text: `coalesce(%, '') || '!'`,
  bigint: 'coalesce(%, 0) + 1',
  integer: 'coalesce(%, 0) + 1',
  boolean: 'NOT coalesce(%, false)',
  'timestamp with time zone': `coalesce(%, '2026-01-01') + interval '1 microsecond'`,
  jsonb: `'[7]'`,
  uuid: 'gen_random_uuid()',
};

/** Changes a random cell of a random row in every table of a read model that has rows. Returns the tables. */
async function changeCells(): Promise<string[]> {
  const { rows: columns } = await sql(
    `SELECT c.relname AS table, attname AS column, format_type(atttypid, atttypmod) AS type
     FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
     WHERE c.relname = ANY (ARRAY['document_outcome', 'document_outcome_count', 'document_open', 'sent_document',
       'movement_document', 'item_movement', 'pack_state', 'outcome_event', 'document_timing'])
       AND c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND attnum <> ALL (SELECT unnest(conkey) FROM pg_constraint WHERE conrelid = c.oid AND contype IN ('p', 'u'))
     ORDER BY 1, 2`,
  );
  const changed: string[] = [];
  const all = columns as { table: string; column: string; type: string }[];
  for (const table of new Set(all.map((one) => one.table))) {
    const fitting = all.filter((one) => one.table === table && OTHER[one.type] !== undefined);
    const one = fitting[below(fitting.length)];
    if (one === undefined) continue;
    const value = (OTHER[one.type] as string).replace('%', one.column);
    const { rowCount } = await sql(
      `UPDATE ${table} SET ${one.column} = ${value} WHERE ctid IN (SELECT ctid FROM ${table} ORDER BY ctid
       OFFSET ${below(2)} LIMIT 1)`,
    );
    if (rowCount === 1) changed.push(table);
  }
  return changed;
}

describe('pedigree audit check', () => {
  it('finds nothing while documents flow, and then every table in which a cell was changed', async () => {
    let isEnded = false;
    const flow = (async () => {
      while (!isEnded) await send();
    })();
    const [code, checked] = await check();
    isEnded = true;
    await flow;
    expect([code, checked]).toMatchObject([0, { findings: [], skipped: [] }]);
    expect(Math.min(checked.events, checked.rows)).toBeGreaterThan(5);
    expect(checked.evidence).toBeGreaterThan(0);
    const changed = await changeCells();
    expect(changed.length).toBeGreaterThan(2);
    const [second, { findings }] = await check();
    expect(second).toBe(1);
    expect(findings.map(({ what, where }) => `${what} ${/table (\w+)/.exec(where)?.[1] ?? ''}`).sort()).toEqual(
      changed.map((table) => `read_model ${table}`).sort(),
    );
    const { rows } = await sql(
      `SELECT type, convert_from(data, 'UTF8') AS data FROM event WHERE stream = 'audit-sweep' ORDER BY version`,
    );
    const types = rows.map((row) => (row as { type: string }).type);
    expect(types).toEqual(['AuditSweepEnded', ...changed.map(() => 'AuditFindingRecorded'), 'AuditSweepEnded']);
    // Each finding is told once, however often it is found.
    await check();
    const again = await sql(`SELECT 1 FROM event WHERE type = 'AuditFindingRecorded'`);
    expect(again.rows).toHaveLength(changed.length);
  }, 300_000);

  it('finds an event, a tile and a piece of evidence that were changed', async () => {
    const bit = below(100);
    await sql(`UPDATE event SET data = set_bit(data, ${bit}, 1 - get_bit(data, ${bit})) WHERE position = 5`);
    await sql('UPDATE audit_tile SET hashes = set_bit(hashes, 77, 1 - get_bit(hashes, 77)) WHERE level = 0');
    await sql(
      `UPDATE evidence SET content = set_byte(content, 20, get_byte(content, 20) # 8) WHERE sha256 IN
       (SELECT sha256 FROM evidence ORDER BY sha256 LIMIT 1)`,
    );
    const kinds = (await check())[1].findings.map(({ what }) => what);
    expect(kinds).toEqual(expect.arrayContaining(['event', 'tile', 'evidence']));
  }, 300_000);
});
