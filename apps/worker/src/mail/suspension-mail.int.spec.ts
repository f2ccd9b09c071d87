import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { eventStoreSchema, PostgresEventStore, type EventMetadata } from '#event-store';
import { VirtualClock } from '#kernel';
import { installationSchema, migrate, type Pool } from '#postgres';
import type { SuspensionDetail } from '#read-models';
import { serviceSchema } from '#service';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema, type TaskResult } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { MailServer, NOBODY } from '../../test/mail-server.js';
import { mailVariables, readMailSettings, type MailSettings } from './mail-settings.js';
import {
  beginSuspensionMails,
  catchUpSuspensionMails,
  MAIL_LANE,
  MOST_IN_MAIL,
  runSuspensionMails,
  SUSPENSION_MAILS,
} from './plan-mails.js';
import { MAILS_AGAIN_MS, mailsTo } from './receivers-mailed.js';
import { COUNTED_TIMES, mailLane, mailOf } from './suspension-mail.js';

const METADATA: EventMetadata = {
  ...{ participant: 'own', actor: { kind: 'system', name: 't', authenticatedBy: 'process' }, softwareVersion: '1' },
  ...{ profile: 'none', effectiveAt: '2026-03-01T00:00:00.000Z', correlationId: 'c', causationId: 'c' },
};
const GTIN = '04600000000015';
const branches: SuspensionDetail['affected'][number]['branches'] = [
  { branch: '00000000000464', standing: 'in_stock', place: '00000000000464', packs: 5, recent: true },
  { branch: '00000000000464', standing: 'in_transit', place: '00000000000999', packs: 2, recent: false },
  { branch: '00000000000464', standing: 'shipped', place: '00000000000888', packs: 7, recent: true },
  { branch: '00000000000464', standing: 'shipped', place: '00000000000777', packs: 9, recent: false },
];
const seriesUnknown: SuspensionDetail['seriesUnknown'][number] = {
  ...{ gtin: GTIN, knownAt: '1', packs: 10, packsAt: `/v1/packs?gtin=${GTIN}&series_unknown=true` },
  branches: [
    { branch: '00000000000464', standing: 'in_stock', place: '00000000000464', packs: 4, recent: true },
    { branch: '00000000000464', standing: 'shipped', place: '00000000000777', packs: 6, recent: false },
  ],
};
const detail = (suspensionId: string): SuspensionDetail => ({
  ...{ suspensionId, source: 'list', state: 'open', action: 'suspend', inForce: true, product: GTIN, series: 'A1' },
  ...{ matches: [{ gtin: GTIN, series: 'A1' }], lookAlikes: [], versions: 1, changedAt: '2026-03-01T00:00:00.000Z' },
  ...{ position: '1', affected: [{ gtin: GTIN, series: 'A1', knownAt: '1', branches }], timeline: [] },
  seriesUnknown: [seriesUnknown],
});

let db: TestDatabase;
let store: PostgresEventStore;
let queue: PostgresTaskQueue;
let server: MailServer;
let settings: MailSettings;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [installationSchema, serviceSchema, eventStoreSchema, tasksSchema, subscriptionsSchema]);
  store = new PostgresEventStore({ pool: db.pool });
  queue = new PostgresTaskQueue({ pool: db.pool });
  server = await MailServer.start();
  settings = {
    ...{ host: '127.0.0.1', port: server.port, tls: 'none', login: undefined },
    ...{ from: 'pedigree@example.org', to: ['quality@example.org', 'warehouse@example.org'] },
  };
});
afterAll(async () => {
  await server.stop();
  await queue.close();
  await store.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query('DELETE FROM task; DELETE FROM program_process');
  server.mails.length = 0;
  server.mood = 'takes';
});

async function changed(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const suspensionId of ids) {
    const data = { suspensionId, gtin: GTIN, series: 'A1', listSha256: 'a'.repeat(64), fetchedAt: '2026-03-01' };
    await store.append(`suspension-${suspensionId}`, 'none', [
      { id: randomUUID(), type: 'SuspensionListed', schemaVersion: 1, data, metadata: METADATA },
    ]);
  }
  return ids;
}
const QUALITY = ['quality@example.org'];
const INSTALLATION = { id: randomUUID() };
/** What the record has of a suspension. */
let counted = (id: string): Promise<SuspensionDetail> => Promise.resolve(detail(id));
const plan = (to = QUALITY) => catchUpSuspensionMails({ store, pool: db.pool, queue, to });
async function work(mail: MailSettings | null = settings): Promise<(TaskResult | Error)[]> {
  const suspensionNow = (id: string) => counted(id);
  const { kinds } = mailLane({ pool: db.pool, mail: mail ?? undefined, installation: INSTALLATION, suspensionNow });
  const done: (TaskResult | Error)[] = [];
  for (const task of await queue.claim(MAIL_LANE, { limit: 9, leaseMs: 60_000, holder: 'test' })) {
    const handler = kinds['mail_suspensions'] as unknown as { handle(one: object, by: object): Promise<TaskResult> };
    const result = await handler.handle(task, { signal: new AbortController().signal }).catch((error: Error) => error);
    done.push(result);
    await queue.settle(task, result instanceof Error ? { kind: 'retry', delayMs: 0, error: result.message } : result);
  }
  return done;
}

describe('mails about suspensions', () => {
  it('tell one change with our packs by branch, once', async () => {
    const [id] = await changed(1);
    await plan();
    expect(await work()).toEqual([{ kind: 'done' }]);
    const [mail, ...others] = server.mails;
    expect(others).toEqual([]);
    expect(mail?.to).toEqual(QUALITY);
    expect(mail?.data).toContain('Subject: Pedigree: suspend of series A1, 04600000000015');
    expect(mail?.data).toMatch(/Message-ID: <[0-9a-f-]{36}@example.org>/i);
    expect(mail?.data).toContain('in stock: 5 of 04600000000015 A1, branch 00000000000464');
    expect(mail?.data).toContain('in transit: 2');
    expect(mail?.data).toContain('shipped: 7');
    expect(mail?.data).not.toContain('shipped: 9');
    expect(mail?.data).toContain(`pedigree suspensions show ${id}`);
    await plan();
    expect(await work()).toEqual([]);
  });

  it('reach the other receivers once where one address is refused, and each is a mail of its own', async () => {
    await changed(1);
    const to = ['quality@example.org', NOBODY, 'warehouse@example.org'];
    await plan(to);
    server.mood = 'refuses one';
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect((await work({ ...settings, to })).filter((one) => one instanceof Error)).toHaveLength(1);
    expect(server.mails.map((one) => one.to)).toEqual([['quality@example.org'], ['warehouse@example.org']]);
    const ids = server.mails.map(({ data }) => /Message-ID: (.*)/i.exec(data)?.[1]);
    expect(new Set(ids).size).toBe(2);
    // Nobody is to be mailed at that address any more.
    expect(await work()).toEqual([{ kind: 'done' }]);
  });

  it('are for all receivers where the version before planned them', async () => {
    const old = { suspensions: ['s-1'], count: 1 };
    const task = { key: 'mail_suspensions:1', kind: 'mail_suspensions', lane: MAIL_LANE, dueAt: new Date(0) };
    await queue.schedule(db.pool, [{ ...task, payload: old }]);
    expect(await work()).toEqual([{ kind: 'done' }]);
    expect(server.mails.map((one) => one.to)).toEqual([settings.to]);
  });

  it('are one for many changes, the first of which are told', async () => {
    await changed(MOST_IN_MAIL + 5);
    await plan();
    expect(await work()).toEqual([{ kind: 'done' }]);
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.data).toContain('25 suspensions have changed');
    expect(server.mails[0]?.data).toContain('And 5 more');
  });

  it('are tried again while the server refuses, hangs up or is away, and say why', async () => {
    await changed(1);
    await plan();
    server.mood = 'refuses';
    expect(String((await work())[0])).toContain('550');
    server.mood = 'drop';
    expect((await work())[0]).toBeInstanceOf(Error);
    expect(String((await work({ ...settings, port: 1 }))[0])).toContain('ECONNREFUSED');
    const { rows } = await db.pool.query<{ last_error: string; attempts: number }>(
      'SELECT last_error, attempts FROM task',
    );
    expect(rows).toMatchObject([{ attempts: 3, last_error: expect.stringContaining('ECONNREFUSED') }]);
    server.mood = 'takes';
    expect(await work()).toEqual([{ kind: 'done' }]);
    expect(server.mails).toHaveLength(1);
  });

  it('tell of one whose packs cannot be counted, at last without them, beside the others', async () => {
    const [one = '', other = ''] = await changed(2);
    await plan();
    counted = (id) => (id === one ? Promise.reject(new Error('canceling statement')) : Promise.resolve(detail(id)));
    for (let attempt = 1; attempt < COUNTED_TIMES; attempt += 1)
      expect(String((await work())[0])).toContain('canceling statement');
    expect(server.mails).toEqual([]);
    expect(await work()).toEqual([{ kind: 'done' }]);
    counted = (id) => Promise.resolve(detail(id));
    const data = server.mails[0]?.data.replaceAll('=\r\n', '') ?? '';
    expect(data).toContain(`pedigree suspensions show ${one}`);
    expect(data).toContain('could not be counted: canceling statement');
    expect(data).toContain(`pedigree suspensions show ${other}`);
    expect(data).not.toContain('more: pedigree suspensions --all');
  });

  it('never go in the clear where TLS is asked for', async () => {
    await changed(1);
    await plan();
    expect((await work({ ...settings, tls: 'starttls' }))[0]).toBeInstanceOf(Error);
    expect(server.mails).toEqual([]);
    // Mail was switched off meanwhile.
    expect(await work(null)).toEqual([{ kind: 'done' }]);
    expect(server.mails).toEqual([]);
  });

  it('are planned for nothing from before the first start, and for all since, however long ago', async () => {
    await plan([]);
    await db.pool.query('DELETE FROM checkpoint WHERE name = $1', [SUSPENSION_MAILS]);
    await changed(1);
    await beginSuspensionMails(db.pool, store);
    await plan();
    expect(await work()).toEqual([]);
    await changed(1);
    await db.pool.query(`UPDATE event SET recorded_at = recorded_at - interval '40 days'`);
    await beginSuspensionMails(db.pool, store);
    await plan();
    expect(await work()).toEqual([{ kind: 'done' }]);
  });

  it('are planned for nothing that happened while mail was off', async () => {
    await changed(1);
    await plan([]);
    await plan();
    expect(await work()).toEqual([]);
  });

  /** A worker says that it mails these. */
  const mailing = (receivers: string[]) =>
    db.pool.query(
      `INSERT INTO program_process (id, program, process, started_at, seen_at, subscriptions)
        VALUES ($1, 'worker', 'w:1', clock_timestamp(), clock_timestamp(), $2)`,
      [randomUUID(), JSON.stringify(mailsTo(receivers))],
    );
  const minutesPass = () =>
    db.pool.query(`UPDATE program_process SET seen_at = seen_at - $1 * interval '1 millisecond'`, [MAILS_AGAIN_MS]);

  it('are left by a worker without mail to one that mails, until that is gone for minutes', async () => {
    await plan([]);
    await changed(1);
    await mailing(QUALITY);
    const [clock, end] = [new VirtualClock(), new AbortController()];
    let looks = 0;
    const query = (...given: [string]) => {
      if (String(given[0]).includes('FROM program_process')) looks += 1;
      return db.pool.query(...given);
    };
    const pool = Object.assign(Object.create(db.pool) as Pool, { query });
    const running = runSuspensionMails({ store, pool, queue, to: [], clock, signal: end.signal });
    const isPast = async (): Promise<boolean> => {
      clock.advance(5_000);
      const { rows } = await db.pool.query<{ position: bigint }>('SELECT position FROM checkpoint WHERE name = $1', [
        SUSPENSION_MAILS,
      ]);
      return rows[0]?.position === (await store.head());
    };
    await until('it has looked again', async () => (await isPast()) || looks > 2);
    expect(await isPast()).toBe(false);
    await minutesPass();
    await until('it passed over the change', isPast);
    end.abort();
    await running;
    expect(await work()).toEqual([]);
  });

  it('wait, once planned, for the worker that mails their receiver', async () => {
    await changed(1);
    await plan();
    await mailing(QUALITY);
    const others = { ...settings, to: ['warehouse@example.org'] };
    for (const mail of [null, others]) expect(String((await work(mail))[0])).toContain('does not mail quality@');
    const { rows } = await db.pool.query<{ attempts: number }>('SELECT attempts FROM task');
    expect(rows).toEqual([{ attempts: 2 }]);
    expect(await work()).toEqual([{ kind: 'done' }]);
    expect(server.mails.map((one) => one.to)).toEqual([QUALITY]);
    await changed(1);
    await plan();
    await minutesPass();
    expect(await work(others)).toEqual([{ kind: 'done' }]);
    expect(server.mails).toHaveLength(1);
  });

  it('are not taken by a worker without mail while another has it, nor at once by one that left some', async () => {
    const clock = new VirtualClock();
    const laneWith = (to: string[] | undefined) =>
      mailLane({
        ...{ pool: db.pool, installation: INSTALLATION, clock, suspensionNow: counted },
        mail: to && { ...settings, to },
      });
    const [without, others] = [laneWith(undefined), laneWith(['warehouse@example.org'])];
    expect([await without.held?.(), await others.held?.()]).toEqual([false, false]);
    await mailing(QUALITY);
    expect([await without.held?.(), await others.held?.()]).toEqual([true, false]);
    await changed(1);
    await plan();
    const [task] = await queue.claim(MAIL_LANE, { limit: 1, leaseMs: 60_000, holder: 'test' });
    const handler = others.kinds['mail_suspensions'] as unknown as { handle(one: unknown): Promise<TaskResult> };
    await expect(handler.handle(task)).rejects.toThrow('does not mail');
    expect(await others.held?.()).toBe(true);
    clock.advance(30_000);
    expect(await others.held?.()).toBe(false);
  });

  it('are planned for those whom other workers mail, too', async () => {
    await mailing(['warehouse@example.org']);
    await changed(1);
    await plan();
    const { rows } = await db.pool.query<{ to: string }>(`SELECT payload::jsonb ->> 'to' AS to FROM task ORDER BY 1`);
    expect(rows.map(({ to }) => to)).toEqual(['quality@example.org', 'warehouse@example.org']);
  });

  it('cut no line into a header', () => {
    const odd = { ...detail('x'), series: 'A\r\nBcc: all@example.org' };
    expect(mailOf([odd], 1).subject).not.toMatch(/[\r\n]/);
  });

  const nothing = { matches: [], affected: [] };
  const old = { affected: [{ gtin: GTIN, series: 'A1', knownAt: '1', branches: branches.slice(3) }] };
  it.each<[string, Partial<SuspensionDetail>]>([
    ['nobody has said yet which packs it means: pedigree suspensions match x', { ...nothing, state: 'unmatched' }],
    ['it means no product that we know of', nothing],
    ['none of our packs in stock, in transit, or shipped within 90 days', old],
  ])('say no more than is known: %s', (words, over) => {
    const { text } = mailOf([{ ...detail('x'), seriesUnknown: [], ...over }], 1);
    expect(text).toContain(words);
    expect(text.match(/none of our packs/g)?.length ?? 0).toBe(over === old ? 1 : 0);
  });

  it('of a release promise nothing for the list, decisions and letters beside it', () => {
    const { text } = mailOf([{ ...detail('x'), action: 'release', inForce: false }], 1);
    expect(text).toContain('Another suspension of the series may still hold them.');
  });

  it('tell packs whose series no document has told, beside the others, once a product', () => {
    const one = detail('x');
    const two = { ...one, affected: [...one.affected, { ...one.affected[0], branches: [], series: 'A2' }] };
    const { text } = mailOf([two as SuspensionDetail], 1);
    const words = `in stock: 4 of ${GTIN}, series unknown, branch 00000000000464`;
    expect(text.split(words)).toHaveLength(2);
    expect(text).toContain(`pedigree packs --series-unknown --gtin ${GTIN}`);
    expect(text).not.toContain('shipped: 6');
    expect(text).toContain(`in stock: 5 of ${GTIN} A1`);
  });
});

describe('settings of mail', () => {
  const read = (given: object) => readMailSettings(z.object(mailVariables).parse(given));
  const whole = {
    ...{ PEDIGREE_MAIL_HOST: 'mail.example.org', PEDIGREE_MAIL_FROM: 'p@example.org' },
    PEDIGREE_MAIL_TO: 'a@example.org, b@example.org',
  };

  it('are none without a host, and hold the password of a file', async () => {
    expect(read({})).toBeUndefined();
    const folder = await temporaryFolder();
    const file = join(folder.path, 'password');
    writeFileSync(file, 'secret\n');
    chmodSync(file, 0o600);
    expect(read({ ...whole, PEDIGREE_MAIL_USER: 'p', PEDIGREE_MAIL_PASSWORD_FILE: file })).toEqual({
      ...{ host: 'mail.example.org', port: 587, tls: 'starttls', from: 'p@example.org' },
      ...{ to: ['a@example.org', 'b@example.org'], login: { user: 'p', password: 'secret' } },
    });
    await folder.remove();
  });

  it.each([
    ['no server', { PEDIGREE_MAIL_HOST: undefined }, 'PEDIGREE_MAIL_HOST: must be set where PEDIGREE_MAIL_FROM is'],
    ['no sender', { PEDIGREE_MAIL_FROM: undefined }, 'PEDIGREE_MAIL_FROM'],
    ['no receiver', { PEDIGREE_MAIL_TO: undefined }, 'PEDIGREE_MAIL_TO: "" is not an address'],
    ['a list with a hole', { PEDIGREE_MAIL_TO: 'a@b, ,c@d' }, 'PEDIGREE_MAIL_TO: "" is not an address'],
    ['a user without a password', { PEDIGREE_MAIL_USER: 'p' }, 'PEDIGREE_MAIL_PASSWORD_FILE'],
    ['a password without a user', { PEDIGREE_MAIL_PASSWORD_FILE: '/f' }, 'PEDIGREE_MAIL_USER'],
  ])('%s is refused by name', (_, given, message) => {
    expect(() => read({ ...whole, ...given })).toThrow(message);
  });
});
