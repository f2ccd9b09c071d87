import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { firstDifference } from '../memory/first-difference.js';
import { rememberedCheckpoint } from '../memory/hold.js';
import type { Checkpoint } from '#merkle';
import { LogKeys } from '#proofs';
import type { Finding } from './finding.js';
import { LogCheck, type LogPlace } from './log-check.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

const sql = (text: string) => log.db.pool.query(text);

async function swept(from?: LogPlace): Promise<string[]> {
  const findings: Finding[] = [];
  const keys = new LogKeys(log.signer);
  const { pool } = log.db;
  const signed = rememberedCheckpoint(keys, auditor.folder.read()) as Checkpoint;
  const report = async (finding: Finding): Promise<void> => void findings.push(finding);
  const signedBy = { keys, signed, breaks: 0, told: 0n, witnesses: [] };
  const parts = { pool, store: log.store, leaves: auditor.folder.leaves, ...signedBy, report };
  const check = new LogCheck(parts, from);
  while ((await check.next()) !== undefined);
  await check.finish();
  return findings.map(({ what, where }) => `${what}: ${where.replace(/ of thing-\S+,/, '')}`);
}

/** 30 leaves of a version before, and as many of this one. */
async function upgraded(): Promise<void> {
  await log.write(30);
  await log.sealOldForm();
  await auditor.watch.sign();
  await log.write(30);
  await auditor.seal();
  await auditor.watch.sign();
}

describe('a log whose first leaves a version before has sealed', () => {
  it('is as it was signed, and goes on', async () => {
    await upgraded();
    expect(await swept()).toEqual([]);
    await auditor.watch.look();
    expect(await firstDifference(log.store, auditor.folder.leaves)).toBeUndefined();
  });

  it.each([5, 30, 31, 50])('is found where the event at position %i is another', async (position) => {
    await upgraded();
    await sql(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = ${position}`);
    expect(await swept()).toEqual([expect.stringMatching(new RegExp(`^event: leaf ${position - 1}: ThingHappened`))]);
    expect(await firstDifference(log.store, auditor.folder.leaves)).toMatchObject({ leaf: position - 1 });
  });

  it.each([5, 30, 31])('is found where the event at position %i is gone', async (position) => {
    await upgraded();
    await sql(`DELETE FROM event WHERE position = ${position}`);
    expect(await swept()).toContainEqual(`event: leaf ${position - 1}`);
  });

  it('is found where the table says another form of a page', async () => {
    await upgraded();
    await sql('UPDATE audit_page SET form = 2 WHERE first_leaf = 14');
    expect(await swept()).toEqual(['page: the table audit_page, leaf 14']);
  });

  it('is found where a leaf of the older form comes behind those that name digests', async () => {
    await upgraded();
    await log.append('late', [{}]);
    await log.sealOldForm();
    await auditor.watch.sign();
    const found = await swept();
    expect(found[0]).toMatch(/^event: leaf 60: ThingHappened, version 0/);
    expect(found[1]).toBe('page: the table audit_page, leaf 60');
  });

  it('tells a damaged file of the folder from a changed event, in both forms', async () => {
    await upgraded();
    const { writeFile, readFile } = await import('node:fs/promises');
    const file = `${auditor.folder.path}/leaves`;
    const bytes = await readFile(file);
    for (const leaf of [0, 29, 30]) bytes[leaf * 32] = (bytes[leaf * 32] ?? 0) ^ 1;
    await writeFile(file, bytes);
    expect(await swept()).toEqual(
      [0, 29, 30].map((leaf) => `memory: leaf ${leaf} in the file leaves of the auditor's folder`),
    );
  });
});
