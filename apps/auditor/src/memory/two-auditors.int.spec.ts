import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newestCheckpoint } from '#sealed-log';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';

let log: AuditedLog;
beforeEach(async () => {
  log = await AuditedLog.open();
});
afterEach(() => log.close());

async function grown(auditor: TestAuditor): Promise<void> {
  await log.write(10);
  await auditor.seal();
}

/** It is in the folder, and the process ends before it is in the database. */
async function signedAndKilled(auditor: TestAuditor): Promise<void> {
  await log.db.pool.query(
    `CREATE FUNCTION killed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$;
     CREATE TRIGGER killed BEFORE INSERT ON audit_checkpoint FOR EACH ROW EXECUTE FUNCTION killed()`,
  );
  await expect(auditor.watch.sign()).rejects.toThrow('killed');
  await log.db.pool.query('DROP FUNCTION killed CASCADE');
}

/** One has read the smaller tree, and publishes it after another has kept the larger one in its folder. */
async function overtaken(one: TestAuditor): Promise<void> {
  const other = log.auditor('two');
  await grown(one);
  await signedAndKilled(other);
  await grown(one);
  await signedAndKilled(one);
  await other.watch.look();
}

describe('two auditors that sign at one time', () => {
  it.each([0, 1])('are in no contradiction where one is killed before it publishes, behind %i checkpoints', async (n) => {
    const one = log.auditor('one');
    for (let signed = 0; signed < n; signed += 1) {
      await grown(one);
      await one.watch.sign();
      await log.auditor('two').watch.look();
    }
    const size = n * 10;
    await overtaken(one);
    expect((await newestCheckpoint(log.db.pool))?.size).toBe(size + 10);
    const again = log.auditor('one');
    expect((await again.watch.look()).isUnpublished).toBe(true);
    expect(again.alarm.current()).toBeUndefined();
    expect((await newestCheckpoint(log.db.pool))?.size).toBe(size + 20);
    expect((await log.auditor('two').watch.look()).remembered?.size).toBe(size + 20);
  });

  it('are alarmed all the same where what the other has published is not of the tree', async () => {
    await overtaken(log.auditor('one'));
    await log.db.pool.query('UPDATE audit_checkpoint SET root = sha256(root)');
    await expect(log.auditor('one').watch.look()).rejects.toThrow('the checkpoint of 10 events in the table');
  });
});
