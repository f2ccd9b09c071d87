import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { migrate, openPool } from '#postgres';
import { accessLogProjection } from '#read-models';
import { catchUp, catchUpProjection } from '#subscriptions';
import { testDatabase } from '../../../../test/support/database.js';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { TestHarness } from '../../../gateway/test/test-harness.js';
import { cliConfig } from '../config.js';
import { GatewayClient } from '../gateway-client.js';
import { recordHostExport } from '../stack/host-export.js';
import { addAccessCommand } from './access.js';
import { proveNamed, verifyProof } from './audit-proof.js';
import { writeStates } from './states.js';

let harness: TestHarness;
let folder: string;
let opened: string;
/** Of the day on which it was opened: midnight may pass. */
let stream: string;
const signer = noteSigner('pedigree.example/log', newSigningKey());
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-access-'));
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  const { pool } = harness.db;
  await migrate(pool, auditorSchemas);
  opened = await new PostgresEvidenceStore({ pool }).put(Buffer.from('<opened-bytes/>'), 'application/xml');
  expect((await harness.ask(`/v1/evidence/${opened}?reason=an%20inspection`)).status).toBe(200);
  const store = new PostgresEventStore({ pool });
  stream = (await store.readAll(0n, { filter: { types: ['EvidenceOpened'] } })).events[0]?.stream ?? '';
  await catchUpProjection({ projection: accessLogProjection(), store, pool });
  await catchUp({ store, pool, name: 'auditor', handle: seal });
  await store.close();
  await signCheckpoint(pool, signer);
});
afterAll(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** What is printed on standard output meanwhile. */
async function printed(run: () => Promise<unknown>): Promise<string> {
  const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
  await run();
  const text = print.mock.calls.map(([one]) => String(one)).join('');
  jest.restoreAllMocks();
  return text;
}

const access = (...args: string[]): Promise<string> =>
  printed(async () => {
    const pedigree = new Command('pedigree').exitOverride();
    addAccessCommand(
      pedigree,
      (run) =>
        async (...given) =>
          void (await run(...given)),
      () => new GatewayClient(harness.gateway.url, undefined),
    );
    await pedigree.parseAsync(['access', ...args], { from: 'user' });
  });

describe('what a command on the host takes out', () => {
  it('is recorded before its first byte, and nothing where nothing goes out', async () => {
    const { pool, url } = harness.db;
    const begun = async (): Promise<object[]> =>
      (
        await pool.query<{ data: string }>(
          `SELECT convert_from(data, 'UTF8') AS data FROM event WHERE type = 'ExportBegun' ORDER BY position`,
        )
      ).rows.map(({ data }) => JSON.parse(data) as object);
    const before = (await begun()).length;
    const prove = (named: string) => proveNamed(cliConfig({ DATABASE_URL: url }), { stream: named });
    await expect(prove('no-such-stream')).rejects.toMatchObject({ code: 'not_found' });
    expect(await begun()).toHaveLength(before);
    const states = writeStates(cliConfig({ DATABASE_URL: url }), { at: '999999999', out: join(folder, 'states') });
    await expect(states).rejects.toMatchObject({ code: 'invalid_parameter' });
    expect(await begun()).toHaveLength(before);
    const proof = await printed(() => prove(stream));
    expect(proof).toContain('"format":"pedigree-proof/2"');
    expect((await begun()).slice(before)).toEqual([
      {
        exportId: expect.any(String),
        ...{ what: 'pedigree audit prove', format: 'application/x-ndjson', address: 'host' },
        filter: { stream, evidence: 'true' },
      },
    ]);
    const store = new PostgresEventStore({ pool });
    await catchUpProjection({ projection: accessLogProjection(), store, pool });
    await store.close();
    expect(await access('--kind', 'export', '--json')).toMatch(/"authenticated_by":"database"/);
  });
});

describe('a database that may only be read', () => {
  it('gives out what nobody can record, and that is said', async () => {
    const pool = openPool({ connectionString: harness.db.url, maxConnections: 1, applicationName: 'test' });
    await pool.query('SET default_transaction_read_only = on');
    let said = '';
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => (said += String(text)) !== '');
    const exported = { what: 'pedigree states', format: 'parquet', filter: {} };
    await recordHostExport(cliConfig({ DATABASE_URL: harness.db.url }), pool, exported);
    await pool.end();
    expect(said).toContain('not recorded in the access log');
  });
});

describe('pedigree access', () => {
  it('tells who opened what and why, as a table and as JSON, and what else was asked for alone', async () => {
    const table = await access('--kind', 'evidence', '--since', '1h');
    for (const word of ['local (person, loopback)', 'EvidenceOpened', opened, 'an inspection'])
      expect(table.replace(/\s+/g, ' ')).toContain(word);
    const page = JSON.parse(await access('--object', opened, '--actor', 'local', '--json')) as { items: object[] };
    expect(page.items).toMatchObject([{ kind: 'evidence', objects: [opened], stream }]);
    expect(await access('--actor', 'nobody', '--json')).toBe('{"items":[]}\n');
    expect(await access('--kind', 'configuration', '--json')).toContain('ConfigurationChanged');
  });

  it('writes all entries to a file, and that is an entry itself', async () => {
    const file = join(folder, 'access.csv');
    await access('--csv', file);
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const exports = { types: ['ExportBegun', 'ExportEnded'] };
    const [begun, ended] = (await store.readAll(0n, { filter: exports, limit: 1_000 })).events.slice(-2);
    expect([begun?.data['what'], begun?.data['format'], ended?.data['complete']]).toEqual([
      '/v1/access-log',
      'text/csv',
      true,
    ]);
    await store.close();
  });
});

describe('the proof of a day', () => {
  it('verifies offline, and neither holds what was opened nor verifies when a name is changed', async () => {
    const proof = await printed(() =>
      proveNamed(cliConfig({ DATABASE_URL: harness.db.url }), { document: undefined, stream }),
    );
    expect(proof).toContain(opened);
    expect(proof).not.toContain(Buffer.from('<opened-bytes/>').toString('base64'));
    const verify = async (text: string): Promise<number> => {
      const file = join(folder, 'proof');
      writeFileSync(file, text);
      let status = 1;
      await printed(
        async () => (status = await verifyProof(file, { key: verifierKeyOf(signer) } as never).catch(() => 1)),
      );
      return status;
    };
    expect(await verify(proof)).toBe(0);
    expect(
      await verify(
        proof.replaceAll(
          opened,
          opened.replace(/^./, (one) => (one === '0' ? '1' : '0')),
        ),
      ),
    ).toBe(1);
  });
});
