import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { PostgresTaskQueue, tasksSchema, type Task } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { reclaimLeases } from './reclaim-leases.js';
import { isSurelyGone, processName } from './process-name.js';

const LEASE_MS = 600_000;
/** Where the system does not tell enough of its processes, every holder counts as alive and leases run their time. */
const tells = existsSync('/proc/self/ns/pid');

let db: TestDatabase;
let queue: PostgresTaskQueue;
const children: ChildProcess[] = [];
beforeAll(async () => {
  db = await testDatabase([tasksSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await queue.close();
  await db.drop();
});

/** Another process that lives until it is killed. */
async function otherProcess(): Promise<{ child: ChildProcess; name: string }> {
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1e6)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return { child, name: processName(child.pid) };
}

async function killed(): Promise<string> {
  const { child, name } = await otherProcess();
  child.kill('SIGKILL');
  await once(child, 'exit');
  return name;
}

/** A task in a lane of its own, leased by this holder. */
async function leasedBy(holder: string): Promise<string> {
  const lane = randomUUID();
  await queue.schedule(db.pool, [{ key: lane, kind: 'send', lane, dueAt: new Date(0), payload: {} }]);
  expect(await claim(lane, holder)).toHaveLength(1);
  return lane;
}

const claim = (lane: string, holder = 'test'): Promise<Task[]> =>
  queue.claim(lane, { limit: 10, leaseMs: LEASE_MS, holder });

describe('leases of processes that are gone', () => {
  it(
    `end at once${tells ? '' : ' (not on this system: they run their time)'}, and the next holder is told that one ` +
      'ran out',
    async () => {
      const lane = await leasedBy(await killed());
      expect(await claim(lane)).toEqual([]);
      expect(await reclaimLeases(queue)).toBe(tells ? 1 : 0);
      expect((await claim(lane)).map((task) => [task.key, task.leaseExpiredBefore])).toEqual(
        tells ? [[lane, true]] : [],
      );
      expect(await reclaimLeases(queue)).toBe(0);
    },
  );

  it('are not those of processes that live: this one, and another', async () => {
    const lanes = await Promise.all([leasedBy(processName()), leasedBy((await otherProcess()).name)]);
    expect(await reclaimLeases(queue)).toBe(0);
    for (const lane of lanes) expect(await claim(lane)).toEqual([]);
  });

  it('leave what a holder has given back or done alone', async () => {
    const holder = await killed();
    const lane = await leasedBy(holder);
    await db.pool.query(`UPDATE task SET lease_until = '-infinity' WHERE lane = $1`, [lane]);
    expect(await reclaimLeases(queue)).toBe(0);
    expect((await claim(lane))[0]?.leaseExpiredBefore).toBe(false);
  });
});

describe('the name of a process', () => {
  it('is that of a later process with the same number no more', () => {
    const another = processName().replace(/\d+$/, (ticks) => String(Number(ticks) + 1));
    expect(isSurelyGone(another)).toBe(tells);
    expect(isSurelyGone(processName())).toBe(false);
  });

  it('proves nothing from another host, another boot, another container, or in another make', async () => {
    const gone = await killed();
    expect(isSurelyGone(gone)).toBe(tells);
    const elsewhere = [
      gone.replace(/^[^:]+/, 'another-host'),
      gone.replace(/ [0-9a-f-]{36}\//, ` ${randomUUID()}/`),
      gone.replace(/pid:\[\d+\]/, 'pid:[1]'),
      gone.split(' ')[0] as string,
      'somebody',
      '',
    ];
    // Each must really differ from the name that proves something.
    expect(tells && elsewhere.includes(gone)).toBe(false);
    expect(elsewhere.filter(isSurelyGone)).toEqual([]);
  });
});
