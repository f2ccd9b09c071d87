import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { leafOf } from '#proofs';
import { newestCheckpoint, sealedSize } from '#sealed-log';
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

describe('an insider on a log that goes on', () => {
  const CHANGED = (position: number): string =>
    `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = ${position}`;

  it('is found by the newest events, although others were sealed before the look, and until they are put back', async () => {
    const { pool } = log.db;
    const { rows } = await pool.query<{ data: Buffer }>('SELECT data FROM event WHERE position = 78');
    await pool.query(CHANGED(78));
    await log.write(30);
    await auditor.seal();
    const size = await sealedSize(pool);
    for (const _ of [1, 2]) {
      await expect(auditor.watch.look()).rejects.toThrow(
        /^leaf 77 is not the event that was sealed: ThingHappened, version \d of thing-\S+, at position 78$/,
      );
      await log.write(10);
      await expect(auditor.seal()).rejects.toThrow(/^leaf 77 is not/);
      expect(await sealedSize(pool)).toBe(size);
    }
    await pool.query('UPDATE event SET data = $1 WHERE position = 78', [rows[0]?.data]);
    await auditor.watch.look();
    await auditor.seal();
    expect((await auditor.watch.sign())?.size).toBe(130);
    expect(auditor.alarm.current()).toBeUndefined();
  });

  it('has deleted the last events, and others come in their place: nothing is sealed behind them', async () => {
    await log.db.pool.query('DELETE FROM event WHERE position > 77; UPDATE event_counter SET position = 77');
    await log.write(30);
    await expect(auditor.seal()).rejects.toThrow(/^leaf 79 is not the event that was sealed: .* at position 80$/);
    expect(await sealedSize(log.db.pool)).toBe(80);
    await expect(auditor.watch.look()).rejects.toThrow(/^leaf 77 is not the event/);
  });

  it('has changed one of the newest events together with its leaf', async () => {
    await signed(176);
    const { pool } = log.db;
    await pool.query(CHANGED(255));
    const { events } = await log.store.readAll(254n, { limit: 1 });
    // The tile is full, so that the roots are made of the hash above it.
    await pool.query(`UPDATE audit_tile SET hashes = overlay(hashes PLACING $1 FROM ${254 * 32 + 1}) WHERE level = 0`, [
      leafOf(events[0] as RecordedEvent),
    ]);
    await expect(auditor.watch.look()).rejects.toThrow('leaves from 0 on are not those that were signed');
  });

  it('has made of one of the newest events what is no JSON: the alarm is raised all the same', async () => {
    await log.db.pool.query(`UPDATE event SET data = '\\x00ff' WHERE position = 79`);
    await expect(auditor.watch.look()).rejects.toThrow('leaf 78 is not the event that was sealed');
    expect(auditor.alarm.current()?.leaf).toBe(78);
  });

  it('has changed one of the newest 4,096 events, in the page before a page of one', async () => {
    const { pool } = log.db;
    await log.write(4_096);
    await auditor.seal(4_096);
    await log.write(1);
    await auditor.seal(4_096);
    await auditor.watch.look();
    // The oldest of them.
    await pool.query(CHANGED(4_177 - 4_096 + 1));
    await expect(auditor.watch.look()).rejects.toThrow('leaf 81 is not the event that was sealed');
  });

  it.each(['infinity', '290000-01-01T00:00:00Z'])('has given one of the newest events the time %s', async (time) => {
    await log.db.pool.query(`UPDATE event SET recorded_at = '${time}' WHERE position = 79`);
    await expect(auditor.watch.look()).rejects.toThrow(/^leaf 78 is not the event that was sealed: .* at position 79/);
    expect(auditor.alarm.current()?.leaf).toBe(78);
    await log.write(10);
    await expect(auditor.seal()).rejects.toThrow(/^leaf 78 is not/);
    expect(await sealedSize(log.db.pool)).toBe(80);
  });
});

describe('a look that fails', () => {
  const AWAY = 'ALTER TABLE audit_checkpoint RENAME TO audit_checkpoint_away';
  const BACK = 'ALTER TABLE audit_checkpoint_away RENAME TO audit_checkpoint';

  it('lets the auditor seal 4,096 leaves behind the last one that went well, and goes on by itself', async () => {
    const { pool } = log.db;
    await auditor.watch.look();
    await log.write(4_100);
    await pool.query(AWAY);
    await expect(auditor.watch.look()).rejects.toThrow(/audit_checkpoint/);
    await expect(auditor.seal(1_024)).rejects.toThrow(/audit_checkpoint/);
    expect(await sealedSize(pool)).toBe(80 + 4_096);
    expect(auditor.alarm.current()).toBeUndefined();
    await pool.query(BACK);
    // No regular look comes between: sealing looks by itself.
    await auditor.seal(1_024);
    expect(await sealedSize(pool)).toBe(80 + 4_100);
  });

  it('is not gone past at a start: nothing is sealed before one went well', async () => {
    const { pool } = log.db;
    await log.write(10);
    await pool.query(AWAY);
    const next = log.auditor('one');
    await expect(next.watch.look()).rejects.toThrow(/audit_checkpoint/);
    await expect(next.seal()).rejects.toThrow(/audit_checkpoint/);
    expect(await sealedSize(pool)).toBe(80);
    await pool.query(BACK);
    await next.seal();
    expect(await sealedSize(pool)).toBe(90);
  });

  it('is made by the sealing itself as often as it takes: a changed event is found however many come', async () => {
    const { pool } = log.db;
    await auditor.watch.look();
    await pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 40`);
    await log.write(5_000);
    await expect(auditor.seal(1_000)).rejects.toThrow('leaf 39 is not the event that was sealed');
    expect(auditor.alarm.current()?.leaf).toBe(39);
    const size = await sealedSize(pool);
    await expect(auditor.seal(1_000)).rejects.toThrow('leaf 39 is not the event that was sealed');
    expect(await sealedSize(pool)).toBe(size);
  });
});

describe('a mend of what was tampered with', () => {
  it('that changes events which wait to be sealed is what is sealed, and no event that is gone', async () => {
    const { pool } = log.db;
    const { rows } = await pool.query<{ data: Buffer }>('SELECT data FROM event WHERE position = 80');
    await pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 80`);
    await log.write(10);
    let failures = 0;
    await auditor.sealThrough(async () => {
      failures += 1;
      // The page is in memory by now. The log is put back, with another event among those behind it.
      await pool.query('UPDATE event SET data = $1 WHERE position = 80', [rows[0]?.data]);
      await pool.query(`UPDATE event SET data = convert_to('{"n":7}', 'UTF8') WHERE position = 85`);
    });
    expect(failures).toBe(1);
    expect((await auditor.watch.sign())?.size).toBe(90);
    expect(auditor.alarm.current()).toBeUndefined();
  });
});
