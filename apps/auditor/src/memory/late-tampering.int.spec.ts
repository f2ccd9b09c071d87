import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newestCheckpoint } from '#sealed-log';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  await signed(40);
  await signed(40);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await log.close();
});

async function signed(count: number): Promise<void> {
  await log.write(count);
  await auditor.seal();
  await auditor.watch.sign();
}

/** An insider is at work once the look at the log has gone well, and before the tree is read to be signed. */
function afterTheLook(tampering: () => Promise<unknown>): void {
  const { look } = auditor.watch;
  jest.spyOn(auditor.watch, 'look').mockImplementation(async () => {
    const held = await look.call(auditor.watch);
    await tampering();
    return held;
  });
}

describe('an insider who waits until the log was held against the folder', () => {
  it('gets no signature for another history, with the tree and its checkpoints made anew', async () => {
    await log.write(10);
    await auditor.seal();
    const { db } = log;
    afterTheLook(async () => {
      await db.pool.query(
        `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 60;
         DELETE FROM audit_checkpoint WHERE size > 40;
         TRUNCATE audit_tree, audit_tile, audit_page; DELETE FROM checkpoint WHERE name = 'auditor'`,
      );
      await log.sealAnew();
    });
    const before = auditor.folder.read();
    await expect(auditor.watch.sign()).rejects.toThrow(/does not begin with the 80 events that the auditor has signed/);
    expect(auditor.folder.read()).toEqual(before);
    expect((await newestCheckpoint(db.pool))?.size).toBe(40);
    expect(auditor.alarm.current()?.reason).toMatch(/does not begin with the 80 events/);
  });
});
