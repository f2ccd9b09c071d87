import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { auditorConfig } from '../../../auditor/src/config.js';
import { startAuditor, type RunningAuditor } from '../../../auditor/src/auditor.js';
import { AuditorFolder } from '../../../auditor/src/memory/folder.js';
import { verifyText } from '../../../auditor/test/proofs.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { newestCheckpoint } from '#sealed-log';
import { cliConfig, type CliConfig } from '../config.js';
import { allSchemas } from '../schemas.js';
import { ownAuditorEnvironment } from '../stack/auditor-environment.js';
import { DataDir } from '../stack/data-dir.js';
import { breakAuditLog } from './audit-break.js';
import { proveNamed } from './audit-proof.js';
import { backup, restore } from './backup.js';

const KEY = newSigningKey();
const VERIFIER_KEY = verifierKeyOf(noteSigner('pedigree/log', KEY));

let harness: TestHarness;
let target: TestDatabase;
let folder: TemporaryFolder;
let printed: string[];
beforeEach(async () => {
  [harness, target, folder] = await Promise.all([
    testDatabase(allSchemas()).then((db) => TestHarness.start(db)),
    testDatabase(),
    temporaryFolder(),
  ]);
  writeFileSync(join(folder.path, 'key.pem'), KEY);
  printed = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all([harness.stop(), target.drop(), folder.remove()]);
});

const envOf = (url: string): NodeJS.ProcessEnv => ({
  DATABASE_URL: url,
  DATA_DIR: folder.path,
  AUDIT_FOLDER: folder.path,
  AUDIT_CHECKPOINT_SECONDS: '1',
  LOG_LEVEL: 'silent',
});
const configOf = (url: string): CliConfig => cliConfig(envOf(url));
const auditorOn = (url: string): Promise<RunningAuditor> => startAuditor(auditorConfig(envOf(url)));

/** Gives a command, and waits until all of it is signed. */
async function signed(auditor: RunningAuditor, commandId: string): Promise<void> {
  await harness.post({ command_id: commandId, reference: commandId, xml: arrival() });
  await harness.run(commandId);
  await allSigned(harness.db, auditor);
}

const allSigned = (db: TestDatabase, auditor: RunningAuditor): Promise<void> =>
  until('everything is signed', async () => {
    expect(auditor.troubles()).toEqual([]);
    const { rows } = await db.pool.query<{ head: bigint }>('SELECT position AS head FROM event_counter');
    return BigInt((await newestCheckpoint(db.pool))?.size ?? 0) === rows[0]?.head;
  });

describe('pedigree audit break', () => {
  it('lets a restored backup go on, visibly: in proofs and in the API', async () => {
    const first = await auditorOn(harness.db.url);
    await signed(first, 'one');
    const file = join(folder.path, 'one.backup');
    expect(await backup(configOf(harness.db.url), file)).toBe(0);
    await signed(first, 'lost');
    await first.stop();

    expect(await restore(configOf(target.url), file)).toBe(0);
    const second = await auditorOn(target.url);
    try {
      await until('it is red', () => second.troubles().length > 0);
      expect(second.troubles()[0]?.reason).toMatch(/and the auditor has signed \d+: it was made smaller or reset/);
      expect(await breakAuditLog(configOf(target.url), 'restored the backup')).toBe(0);
      await until('it goes on by itself', () => second.troubles().length === 0);
      await allSigned(target, second);
      printed.length = 0;
      expect(await proveNamed(configOf(target.url), { document: 'one' })).toBe(0);
      const { checkpoint, breaks } = await verifyText(printed.join(''), VERIFIER_KEY);
      expect([checkpoint.origin, breaks.map(({ reason }) => reason)]).toEqual([
        'pedigree/log/2',
        ['restored the backup'],
      ]);
      // A second word changes nothing.
      expect(await breakAuditLog(configOf(target.url), 'again')).toBe(0);
      expect(printed.at(-1)).toMatch(/there is no break to tell/);
    } finally {
      await second.stop();
    }
  }, 120_000);

  it('lets a database go on that was made anew, where the folder was kept', async () => {
    const first = await auditorOn(harness.db.url);
    await signed(first, 'one');
    await first.stop();
    const second = await auditorOn(target.url);
    try {
      await until('it is red', () => second.troubles().length > 0);
      await breakAuditLog(configOf(target.url), 'DATA_DIR was emptied, a new installation');
      await until('it goes on by itself', () => second.troubles().length === 0);
      await allSigned(target, second);
      expect(new AuditorFolder(folder.path).read().breaks).toHaveLength(1);
    } finally {
      await second.stop();
    }
  }, 120_000);

  it('stands in the status of the machinery, with who told it and why', async () => {
    const auditor = await auditorOn(harness.db.url);
    try {
      await signed(auditor, 'one');
      const before = await harness.ask('/v1/operations');
      expect(before.json()).toMatchObject({ audit: { checkpoint: { origin: 'pedigree/log' }, breaks: [] } });
      await harness.db.pool.query(`UPDATE audit_tree SET size = 1`);
      await until('it is red', () => auditor.troubles().length > 0);
      await breakAuditLog(configOf(harness.db.url), 'a trial');
      await until('it goes on by itself', () => auditor.troubles().length === 0);
      await allSigned(harness.db, auditor);
      const after = await harness.ask('/v1/operations');
      expect(after.json()).toMatchObject({
        audit: {
          checkpoint: { origin: 'pedigree/log/2', size: expect.any(Number), signed_at: expect.any(String) },
          breaks: [{ number: 1, reason: 'a trial', told_by: expect.any(String), next_origin: 'pedigree/log/2' }],
        },
      });
      await harness.db.pool.query(
        `UPDATE audit_break SET reason = 'nothing', told_by = 'nobody', before_size = 0, differs_at_leaf = 1,
           told_at = now() - interval '1 year', next_origin = 'another';
         INSERT INTO audit_break VALUES (2, 'no note', now(), 'nobody', 'none', 0, NULL, 'x')`,
      );
      const { breaks } = (after.json() as { audit: { breaks: unknown } }).audit;
      expect((await harness.ask('/v1/operations')).json()).toMatchObject({ audit: { breaks } });
    } finally {
      await auditor.stop();
    }
  }, 120_000);

  it('wants a reason', async () => {
    await expect(breakAuditLog(configOf(harness.db.url), ' ')).rejects.toMatchObject({ code: 'invalid_parameter' });
  });
});

describe('the folder of an auditor that `up` starts', () => {
  it('lies under DATA_DIR with its key, or where it is named; an earlier key stays in use', () => {
    const dataDir = new DataDir(join(folder.path, 'fresh'));
    expect(ownAuditorEnvironment({}, dataDir)).toEqual({
      AUDIT_FOLDER: dataDir.file('auditor'),
      AUDIT_KEY_FILE: dataDir.file('auditor/key.pem'),
    });
    expect(readdirSync(dataDir.file('auditor'))).toEqual(['key.pem']);
    const elsewhere = join(folder.path, 'elsewhere');
    expect(ownAuditorEnvironment({ AUDIT_FOLDER: elsewhere }, dataDir)).toEqual({
      AUDIT_FOLDER: elsewhere,
      AUDIT_KEY_FILE: join(elsewhere, 'key.pem'),
    });
    expect(ownAuditorEnvironment({ AUDIT_KEY_FILE: '/k' }, dataDir)).toEqual({ AUDIT_KEY_FILE: '/k' });
    const old = new DataDir(join(folder.path, 'old'));
    mkdirSync(old.path, { recursive: true });
    writeFileSync(old.file('audit-key.pem'), KEY);
    expect(ownAuditorEnvironment({}, old)['AUDIT_KEY_FILE']).toBe(old.file('audit-key.pem'));
  });
});
