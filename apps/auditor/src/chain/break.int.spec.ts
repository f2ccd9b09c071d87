import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifierKeyOf } from '#merkle';
import type { ProofLine } from '#proofs';
import { newestCheckpoint } from '#sealed-log';
import { catchUp } from '#subscriptions';
import { AuditedLog, ORIGIN, type TestAuditor } from '../../test/audited-log.js';
import { headOf, provenLines, verifyLines } from '../../test/proofs.js';
import { tellBreak } from './tell-break.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  await sealed(40);
  await sealed(30);
});
afterEach(() => log.close());

async function sealed(count: number): Promise<void> {
  await log.write(count);
  await auditor.seal();
  await auditor.watch.sign();
}

/** As a restore of an older backup leaves it: 40 events with their tree. */
const RESTORED = `DELETE FROM event WHERE position > 40; UPDATE event_counter SET position = 40;
  UPDATE audit_tree SET size = 40; DELETE FROM audit_page WHERE last_position > 40;
  DELETE FROM audit_checkpoint WHERE size > 40; UPDATE checkpoint SET position = 40 WHERE name = 'auditor'`;

async function proof(): Promise<ProofLine[]> {
  const { rows } = await log.db.pool.query<{ stream: string }>('SELECT stream FROM event ORDER BY position LIMIT 1');
  return provenLines(log.db.pool, log.store, rows[0]?.stream ?? '');
}
const verify = (lines: ProofLine[]) => verifyLines(lines, verifierKeyOf(log.signer));

describe('a break of the log', () => {
  it('is told by a person after a restore, signed, and the log goes on under another name', async () => {
    await log.db.pool.query(RESTORED);
    await log.write(20);
    await expect(auditor.watch.look()).rejects.toThrow(/has 40 leaves, and the auditor has signed 70/);
    const { broken, contradiction, difference } = await log.tell('one', 'restored the backup of "Tuesday"\n');
    expect(contradiction).toMatch(/has 40 leaves/);
    expect(difference).toMatch(/^the first leaf that differs is 40: ThingHappened/);
    expect(broken).toMatchObject({ number: 1, differsAtLeaf: 40, nextOrigin: `${ORIGIN}/2`, toldBy: 'anna' });

    // The auditor that runs takes it up by itself.
    expect((await auditor.watch.look()).breaks).toEqual([broken]);
    expect(auditor.alarm.current()).toBeUndefined();
    await auditor.seal();
    // The event that tells of it is sealed too.
    expect((await auditor.watch.sign())?.size).toBe(61);
    expect(await verify(await proof())).toMatchObject({
      checkpoint: { origin: `${ORIGIN}/2`, size: 61 },
      breaks: [{ reason: 'restored the backup of "Tuesday"\n', before: { size: 70 } }],
    });
    const [event] = await log.store.readStream('operations');
    expect(event).toMatchObject({
      type: 'AuditLogBroken',
      data: { number: 1, beforeSize: 70, differsAtLeaf: 40 },
      metadata: { reason: 'restored the backup of "Tuesday"\n', actor: { name: 'anna' } },
    });
  });

  it('is told with a reason that has whatever a person types or pastes', async () => {
    await log.db.pool.query(RESTORED);
    const reason = 'restored:\u2028the disk\u2029failed\u007f\u0085 "\\n" \n';
    await log.tell('one', reason);
    await auditor.watch.look();
    await auditor.seal();
    await auditor.watch.sign();
    expect(await verify(await proof())).toMatchObject({ breaks: [{ reason }] });
  });

  it('can be left out of no proof, and changed in none', async () => {
    const before = await proof();
    for (const reason of ['first', 'second']) {
      await log.db.pool.query(`UPDATE audit_tree SET size = 3`);
      await log.tell('one', reason);
      await auditor.watch.look();
      await auditor.seal();
      await auditor.watch.sign();
    }
    const bundle = await proof();
    expect((await verify(bundle)).breaks.map(({ reason }) => reason)).toEqual(['first', 'second']);
    // What was proven before still is, under the name of then.
    expect(await verify(before)).toMatchObject({ checkpoint: { origin: ORIGIN, size: 70 }, breaks: [] });
    const [one = '', two = ''] = headOf(bundle).breaks ?? [];
    const withBreaks = (lines: ProofLine[], breaks: string[]): ProofLine[] => {
      const { breaks: _, ...head } = headOf(lines);
      return [{ ...head, ...(breaks.length === 0 ? {} : { breaks }) }, ...lines.slice(1)];
    };
    const wrong: [ProofLine[], RegExp][] = [
      [withBreaks(bundle, []), /^\/checkpoint: the note carries no signature of pedigree\.example\/log$/],
      [withBreaks(bundle, [one]), /^\/checkpoint: the note carries no signature of pedigree\.example\/log\/2$/],
      [withBreaks(bundle, [two]), /^\/breaks: this is not the note of break 1$/],
      [withBreaks(bundle, [two, one]), /^\/breaks: this is not the note of break 1$/],
      [withBreaks(bundle, [one, one]), /^\/breaks: this is not the note of break 2$/],
      [withBreaks(bundle, [one.replace('first', 'other'), two]), /^\/breaks: the signature .* does not fit/],
      [withBreaks(before, [one]), /^\/checkpoint: the note carries no signature of pedigree\.example\/log\/2$/],
    ];
    for (const [changed, why] of wrong) await expect(verify(changed)).rejects.toThrow(why);
  });

  it('is taken up by every auditor from the database, with a folder of its own', async () => {
    const other = log.auditor('two');
    await other.watch.look();
    await log.db.pool.query(RESTORED);
    await expect(other.watch.look()).rejects.toThrow(/made smaller or reset/);
    await log.tell('one', 'restored');
    expect((await other.watch.look()).breaks).toHaveLength(1);
    await other.seal();
    expect((await other.watch.sign())?.size).toBe(41);
    expect((await auditor.watch.look()).remembered).toMatchObject({ origin: `${ORIGIN}/2`, size: 41 });
    // One that begins now learns of it too.
    expect((await log.auditor('three').watch.look()).breaks).toHaveLength(1);
  });

  it('is not told where the log goes on from what was signed', async () => {
    expect(await tellBreak(log.telling('one', 'for nothing'))).toBeUndefined();
    expect(await log.store.readStream('operations')).toEqual([]);
    expect((await auditor.watch.look()).breaks).toEqual([]);
  });

  it('is not told, nor is anything amiss, while an auditor goes on', async () => {
    const options = log.telling('one', 'for nothing');
    const { leaves } = options.folder;
    const [readLeaves, grown] = [leaves.read.bind(leaves), jest.fn(sealed)];
    leaves.read = async (...asked) => {
      if (grown.mock.calls.length === 0) await grown(10);
      return readLeaves(...asked);
    };
    expect(await tellBreak(options)).toBeUndefined();
    expect([grown.mock.calls.length, await leaves.count()]).toEqual([1, 80]);
  });

  it('is not told for leaves that a stopped auditor had written and not signed', async () => {
    appendFileSync(join(auditor.folder.path, 'leaves'), Buffer.alloc(3 * 32, 7));
    await log.write(10);
    expect(await tellBreak(log.telling('one', 'for nothing'))).toBeUndefined();
  });

  it('of an older event is found by reading the log, and not denied where the leaves cannot tell it', async () => {
    const { pool } = log.db;
    for (let n = 0; n < 5; n += 1) await log.append('many', Array(900).fill({}));
    await catchUp({ store: log.store, pool, name: 'auditor', handle: auditor.watch.seal, batchSize: 1_000 });
    await auditor.watch.sign();
    await pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 30`);
    await auditor.watch.look();
    const file = join(auditor.folder.path, 'leaves');
    const leaves = readFileSync(file);
    for (const wrong of [leaves.subarray(32), leaves.subarray(0, -32), Buffer.concat([leaves.subarray(32), leaves])]) {
      writeFileSync(file, wrong);
      await expect(tellBreak(log.telling('one', 'changed'))).rejects.toThrow('has not the leaves that were signed');
    }
    writeFileSync(file, leaves);
    const { contradiction, broken } = await log.tell('one', 'an event was changed');
    expect([contradiction.slice(0, 14), broken.differsAtLeaf]).toEqual(['an older event', 29]);
  });

  it('that a restore has taken out of the database is missed, and stays in the chain', async () => {
    await log.db.pool.query('UPDATE audit_tree SET size = 3');
    await log.tell('one', 'first');
    await auditor.watch.look();
    await auditor.seal();
    await auditor.watch.sign();
    await log.db.pool.query('TRUNCATE audit_break');
    await expect(auditor.watch.look()).rejects.toThrow(/^break 1 of the log, of which the auditor knows, is not in/);
    await log.tell('one', 'second');
    await auditor.watch.look();
    await auditor.seal();
    await auditor.watch.sign();
    expect((await verify(await proof())).breaks.map(({ reason }) => reason)).toEqual(['first', 'second']);
  });

  it('replaces one that was made up', async () => {
    await log.db.pool.query(`INSERT INTO audit_break VALUES (1, 'no note', now(), 'nobody', 'none', 0, NULL, 'x')`);
    await expect(auditor.watch.look()).rejects.toThrow(/does not hold/);
    await log.tell('one', 'a row was made up');
    expect((await auditor.watch.look()).breaks).toMatchObject([{ reason: 'a row was made up' }]);
  });

  it('tells of the gaps that the log has, and of no later one', async () => {
    await log.write(10);
    await log.db.pool.query('DELETE FROM event WHERE position IN (33, 75)');
    await expect(auditor.seal()).rejects.toThrow(/no event at position 75/);
    await expect(auditor.watch.look()).rejects.toThrow(/^leaf 32 is not the event that was sealed: /);
    const { difference } = await log.tell('one', 'two events are lost');
    expect(difference).toMatch(/^the first leaf that differs is 32: /);
    await auditor.watch.look();
    await auditor.seal();
    expect((await auditor.watch.sign())?.size).toBe(79);
    const { rows } = await log.db.pool.query<{ stream: string }>('SELECT DISTINCT stream FROM event');
    // The place of a leaf is right behind a gap too. Of a stream that lost an event no proof is given away.
    const outcomes = await Promise.all(
      rows.map(({ stream }) =>
        provenLines(log.db.pool, log.store, stream)
          .then(verify)
          .then(
            () => 'holds',
            (error: Error) => error.message.replace(stream, 'it'),
          ),
      ),
    );
    expect(outcomes.filter((one) => one !== 'holds').sort()).toEqual([
      'version 2 of it is not in the log, and version 3 is: it was taken away',
      'version 4 of it is not in the log, and version 5 is: it was taken away',
    ]);
    await log.write(10);
    await log.db.pool.query('DELETE FROM event WHERE position = 85');
    await expect(auditor.seal()).rejects.toThrow(/no event at position 85/);
  });
});

describe('a crash between the folder and the database', () => {
  const refuseCheckpoints = () =>
    log.db.pool.query('ALTER TABLE audit_checkpoint ADD CONSTRAINT refused CHECK (size <= 70)');

  it('is healed: the same checkpoint is published, by the next start or the next look', async () => {
    await log.write(5);
    await auditor.seal();
    await refuseCheckpoints();
    await expect(auditor.watch.sign()).rejects.toThrow(/"refused"/);
    const { checkpoint } = auditor.folder.read();
    expect(checkpoint).toContain('\n75\n');
    await log.db.pool.query('ALTER TABLE audit_checkpoint DROP CONSTRAINT refused');
    const again = log.auditor('one');
    await again.watch.look();
    expect((await newestCheckpoint(log.db.pool))?.note).toBe(checkpoint);
    expect(again.alarm.current()).toBeUndefined();
  });

  it('is healed also when another auditor has gone on meanwhile', async () => {
    await log.write(5);
    await auditor.seal();
    await refuseCheckpoints();
    await expect(auditor.watch.sign()).rejects.toThrow(/"refused"/);
    await log.db.pool.query('ALTER TABLE audit_checkpoint DROP CONSTRAINT refused');
    const other = log.auditor('two');
    await log.write(5);
    await other.seal();
    expect((await other.watch.sign())?.size).toBe(80);
    expect((await log.auditor('one').watch.look()).remembered?.size).toBe(80);
  });

  it('publishes nothing that could not be written to the folder', async () => {
    await log.write(5);
    await auditor.seal();
    auditor.folder.write = () => {
      throw new Error('ENOSPC: no space left on device');
    };
    await expect(auditor.watch.sign()).rejects.toThrow('ENOSPC');
    expect((await newestCheckpoint(log.db.pool))?.size).toBe(70);
    expect(auditor.alarm.current()).toBeUndefined();
  });
});
