import { Contradiction, sealedSize } from '#sealed-log';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cpSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';

const WIPED = `TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint;
  DELETE FROM checkpoint WHERE name = 'auditor'`;
const CHANGED = (position: number): string =>
  `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = ${position}`;
const CUT = (after: number): string =>
  `DELETE FROM event WHERE position > ${after}; UPDATE event_counter SET position = ${after}`;
/** The later events move up, so that no position is missing. */
const TAKEN_OUT = (position: number): string =>
  `DELETE FROM event WHERE position = ${position};
   UPDATE event SET position = -position WHERE position > ${position};
   UPDATE event SET position = -position - 1 WHERE position < 0;
   UPDATE event_counter SET position = position - 1`;
const SWAPPED = (one: number, other: number): string =>
  `UPDATE event SET position = CASE position WHEN ${one} THEN -1 ELSE -2 END WHERE position IN (${one}, ${other});
   UPDATE event SET position = CASE position WHEN -1 THEN ${other} ELSE ${one} END WHERE position < 0`;

const EVENT = 'ThingHappened, version \\d of thing-\\S+, at position \\d+';

interface Tampering {
  what: string;
  sql: string;
  /** The insider also makes a new tree of what is there then, with our own program. */
  sealsAnew?: true;
  says: RegExp;
  /** First leaf that differs; none where the events are as they were. */
  leaf?: number;
}

const SMALLER = /has 0 leaves, and the auditor has signed 100: it was made smaller or reset/;
const OTHER = /does not begin with its checkpoint of 100 events/;

const TAMPERINGS: Tampering[] = [
  { what: 'an event is changed, in the newest page', sql: CHANGED(99), says: /leaf 98 is not the event/, leaf: 98 },
  { what: 'an event is changed, the tree wiped', sql: `${CHANGED(17)}; ${WIPED}`, says: SMALLER, leaf: 16 },
  {
    what: 'an event is changed, the tree made anew',
    sql: `${CHANGED(17)}; ${WIPED}`,
    sealsAnew: true,
    says: OTHER,
    leaf: 16,
  },
  {
    what: 'the first event is changed, the tree made anew',
    sql: `${CHANGED(1)}; ${WIPED}`,
    sealsAnew: true,
    says: OTHER,
    leaf: 0,
  },
  {
    what: 'the last three events are deleted',
    sql: CUT(97),
    says: /ends before the event of leaf 97/,
    leaf: 97,
  },
  {
    what: 'the last three events are deleted, the counter left',
    sql: 'DELETE FROM event WHERE position > 97',
    says: /ends before the event of leaf 97/,
    leaf: 97,
  },
  {
    what: 'the last three are deleted, the tree made anew',
    sql: `${CUT(97)}; ${WIPED}`,
    sealsAnew: true,
    says: /has 97 leaves/,
    leaf: 97,
  },
  {
    what: 'an event is taken out of the middle, the tree made anew',
    sql: `${TAKEN_OUT(40)}; ${WIPED}`,
    sealsAnew: true,
    says: /has 99 leaves/,
    leaf: 39,
  },
  {
    what: 'an event is deleted in the middle, and the tree wiped',
    sql: `DELETE FROM event WHERE position = 40; ${WIPED}`,
    says: SMALLER,
    leaf: 39,
  },
  {
    what: 'two events are swapped, the tree made anew',
    sql: `${SWAPPED(30, 60)}; ${WIPED}`,
    sealsAnew: true,
    says: OTHER,
    leaf: 29,
  },
  {
    what: 'the time of an event is changed, the tree made anew',
    sql: `UPDATE event SET recorded_at = recorded_at - interval '1 day' WHERE position = 50; ${WIPED}`,
    sealsAnew: true,
    says: OTHER,
    leaf: 49,
  },
  { what: 'everything of the auditor is wiped', sql: WIPED, says: SMALLER },
  {
    what: 'the tree is wiped, its checkpoints left',
    sql: 'TRUNCATE audit_tree, audit_tile, audit_page',
    says: SMALLER,
  },
  { what: 'the size is set back', sql: 'UPDATE audit_tree SET size = 93', says: /has 93 leaves/ },
  { what: 'the size is set forward', sql: 'UPDATE audit_tree SET size = 101', says: /audit_page ends at leaf 100/ },
  { what: 'the tiles are wiped', sql: 'TRUNCATE audit_tile', says: /audit_tile was changed: tile 0\/0 holds 0 hashes/ },
  {
    what: 'a hash of a tile is changed',
    sql: 'UPDATE audit_tile SET hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) WHERE level = 0',
    says: OTHER,
  },
  {
    what: 'the newest page is taken away',
    sql: 'DELETE FROM audit_page WHERE last_position = 100',
    says: /audit_page ends at leaf 98/,
  },
  {
    what: 'all checkpoints are wiped',
    sql: 'TRUNCATE audit_checkpoint',
    says: /checkpoint of 100 events, which was published, is not/,
  },
  {
    what: 'the newest two checkpoints are deleted',
    sql: 'DELETE FROM audit_checkpoint WHERE size > 40',
    says: /is not in the table audit_checkpoint/,
  },
  {
    what: 'the root of the newest checkpoint is changed',
    sql: 'UPDATE audit_checkpoint SET root = sha256(root) WHERE size = 100',
    says: /checkpoint of 100 events in the table audit_checkpoint was changed/,
  },
  {
    what: 'the note of the newest checkpoint is changed',
    sql: `UPDATE audit_checkpoint SET note = replace(note, '100', '101') WHERE size = 100`,
    says: /is signed by no key that the auditor knows/,
  },
  {
    what: 'a checkpoint is made up',
    sql: `INSERT INTO audit_checkpoint (size, root, note)
      SELECT 101, root, replace(note, '100', '101') FROM audit_checkpoint WHERE size = 100`,
    says: /checkpoint of 101 events in the table audit_checkpoint is signed by no key/,
  },
  {
    what: 'the cursor is set back',
    sql: `UPDATE checkpoint SET position = 50 WHERE name = 'auditor'`,
    says: /cursor of the auditor is at position 50, and its newest leaf at 100/,
  },
  { what: 'the cursor is taken away', sql: `DELETE FROM checkpoint WHERE name = 'auditor'`, says: /is at position 0/ },
  {
    what: 'the cursor is set forward',
    sql: `UPDATE checkpoint SET position = 150 WHERE name = 'auditor'`,
    says: /is at position 150/,
  },
  {
    what: 'a break is made up',
    sql: `INSERT INTO audit_break VALUES (1, 'no note', now(), 'nobody', 'none', 0, NULL, 'x')`,
    says: /break of the log in the table audit_break does not hold/,
  },
];

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  for (const count of [40, 30, 30]) {
    await log.write(count);
    await auditor.seal();
    await auditor.watch.sign();
  }
});
afterEach(() => log.close());

const checkpoints = async (): Promise<string[]> =>
  (await log.db.pool.query<{ note: string }>('SELECT note FROM audit_checkpoint ORDER BY size')).rows.map(
    (row) => row.note,
  );

describe('what an insider with the rights of the superuser does', () => {
  it.each(TAMPERINGS)(
    '$what: noticed at the next look, and after a start, and nothing is sealed or signed',
    async (tampering) => {
      const { sql, sealsAnew, says, leaf } = tampering;
      await log.db.pool.query(sql);
      if (sealsAnew) await log.sealAnew();
      const before = await checkpoints();
      for (const one of [auditor, log.auditor('one')]) {
        await expect(one.watch.look()).rejects.toThrow(says);
        await expect(one.watch.sign()).rejects.toBeInstanceOf(Contradiction);
        await one.watch.settled();
        expect(one.alarm.current()?.reason).toMatch(says);
        if (leaf === undefined)
          expect(one.alarm.current()?.reason).toMatch(/^every event that was signed is as it was; /);
        else {
          expect(one.alarm.current()?.leaf).toBe(leaf);
          expect(one.alarm.current()?.reason).toMatch(
            new RegExp(`^the first leaf that differs is ${leaf}: (${EVENT}|the log ends before it); `),
          );
        }
      }
      const size = await sealedSize(log.db.pool);
      await log.write(60);
      await expect(auditor.seal()).rejects.toThrow(says);
      expect([await sealedSize(log.db.pool), await checkpoints()]).toEqual([size, before]);
      await expect(auditor.watch.look()).rejects.toBeInstanceOf(Contradiction);
      if (says !== SMALLER && says !== OTHER) return;
      await expect(log.auditor('one').seal()).rejects.toBeInstanceOf(Contradiction);
    },
  );

  it('takes an event away before it is sealed: the gap is named, and nothing behind it is sealed', async () => {
    await log.write(5);
    await log.db.pool.query('DELETE FROM event WHERE position = 103');
    await expect(auditor.seal()).rejects.toThrow(
      'the log has no event at position 103: it was taken away before it was sealed',
    );
    await log.db.pool.query('DELETE FROM event WHERE position IN (101, 102)');
    await expect(auditor.watch.look()).rejects.toThrow('the log has no event at positions 101 to 103');
  });

  it('is not noticed where the folder is lost or put back too: that takes a witness', async () => {
    cpSync(auditor.folder.path, `${log.place.path}/old`, { recursive: true });
    await log.write(10);
    await auditor.seal();
    await auditor.watch.sign();
    // The last ten events become others, and the folder is the one from before them.
    await log.db.pool.query(
      `${CHANGED(105)}; DELETE FROM audit_checkpoint WHERE size = 110; UPDATE audit_tree SET size = 100;
       DELETE FROM audit_page WHERE last_position > 100; UPDATE checkpoint SET position = 100 WHERE name = 'auditor'`,
    );
    await expect(auditor.watch.look()).rejects.toThrow(/made smaller or reset/);
    const old = log.auditor('old');
    await old.seal();
    expect((await old.watch.sign())?.size).toBe(110);
  });
});

describe('a folder', () => {
  it('that was put back from a copy goes on by a checked proof, without an alarm', async () => {
    cpSync(auditor.folder.path, `${log.place.path}/copy`, { recursive: true });
    await log.write(25);
    await auditor.seal();
    await auditor.watch.sign();
    rmSync(auditor.folder.path, { recursive: true });
    cpSync(`${log.place.path}/copy`, auditor.folder.path, { recursive: true });
    expect((await auditor.watch.look()).remembered?.size).toBe(125);
    expect(await auditor.folder.leaves.count()).toBe(125);
  });

  it('that cannot be read is no empty one: nothing is sealed or signed until it can', async () => {
    const [file, away] = [`${auditor.folder.path}/memory.json`, `${log.place.path}/away`];
    renameSync(file, away);
    // As a link to a disk that is not mounted.
    symlinkSync(`${log.place.path}/not-mounted/memory.json`, file);
    const before = await checkpoints();
    await log.write(10);
    for (const one of [auditor, log.auditor('one')]) {
      await expect(one.watch.look()).rejects.toThrow(/memory\.json is damaged \(ENOENT/);
      await expect(one.seal()).rejects.toThrow(/memory\.json is damaged/);
      await expect(one.watch.sign()).rejects.toThrow(/memory\.json is damaged/);
    }
    expect(await checkpoints()).toEqual(before);
    renameSync(away, file);
    await auditor.seal();
    expect((await auditor.watch.sign())?.size).toBe(110);
  });

  it('that is new learns what was signed from the database, by its signature', async () => {
    const other = log.auditor('two');
    expect((await other.watch.look()).remembered?.size).toBe(100);
    await log.db.pool.query(`${CHANGED(17)}; ${WIPED}`);
    await expect(other.watch.look()).rejects.toThrow(SMALLER);
    await other.watch.settled();
    expect(other.alarm.current()?.leaf).toBe(16);
  });
});
