// Left to the soak: programs over days of a watch. `npm test` has watch-list.int and watch-decisions.int.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { z } from 'zod';
import { DECISION_LIST_STREAM } from '#domain';
import { PostgresEventStore } from '#event-store';
import { checkDigitOf } from '#kernel';
import type { packPage, suspendedListPage, suspensionAnswer, suspensionDetail, suspensionPage } from '#read-models';
import {
  actOnSuspension,
  askSuspension,
  changeSuspension,
  confirmSuspendedList,
  enterSuspension,
  listSuspendedLists,
  listSuspensions,
  matchesIn,
  placesIn,
  showSuspension,
} from '../../apps/cli/src/commands/suspensions.js';
import { moveOrder } from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const WAREHOUSE = '00000000100101';
const CUSTOMER = '00000000300101';
const [LATIN, CYRILLIC] = ['A1', 'А1'];
const sgtin = (prefix: string, n: number): string => `${GTIN}${prefix}${String(n).padStart(12, '0')}`;
const planted = (prefix: string, series: string, count: number) => ({
  ...{ gtin: GTIN, prefix, from: 0, count, series, owner: 'own', place: WAREHOUSE, status: 'in_circulation' },
});

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    sandbox: { language: 'en', processingMs: 50 },
    overrides: { operations: { suspended_sgtins: { pageSize: 4 } } },
    env: { PEDIGREE_SUSPENDED_LIST_MINUTES: '0.01' },
  });
  await stack.control('/plant', {
    ranges: [planted('L', LATIN, 9), planted('C', CYRILLIC, 3), planted('B', 'B1', 2)],
  });
}, 240_000);
afterAll(() => stack.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

type Answer = z.infer<typeof suspensionAnswer>;
const raw = async <T>(path: string): Promise<T> => (await stack.client.raw(path)) as T;
const lists = async () => (await raw<z.infer<typeof suspendedListPage>>('/v1/suspended-lists?source=list')).items;
const inForce = async (more = '') =>
  (await raw<z.infer<typeof suspensionPage>>(`/v1/suspensions?in_force=true${more}`)).items;
const listed = () => inForce('&source=list');
const ask = (series: string, more = '') =>
  raw<Answer>(`/v1/series/${GTIN}/${encodeURIComponent(series)}/suspension${more}`);
const order = (batch: string, haltType = 'suspend') =>
  stack.control('/suspensions', { gtin: GTIN, batch, halt_type: haltType, halt_doc_num: `N-${batch}` });

/** What a command prints. */
async function printed(run: () => Promise<number>): Promise<string> {
  const written: string[] = [];
  const spy = jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  expect(await run()).toBe(0);
  spy.mockRestore();
  return written.join('');
}

/** The next version whose series are so many. */
const listOf = (series: number) =>
  until(`a list of ${series} series`, async () => (await lists())[0]?.series === series, 30_000);

let shipment: string;
let whileSuspended: string;

describe('the watch for suspensions', () => {
  it('holds a list of nothing at first, and a shipment goes', async () => {
    await listOf(0);
    const xml = moveOrder([sgtin('C', 0)], { subject: WAREHOUSE, receiver: CUSTOMER });
    const { request_id: requestId } = await stack.client.command(
      JSON.stringify({ command_id: 'ship', account: 'main', xml }),
    );
    shipment = requestId;
    await until(
      'its end',
      async () => (await raw<{ phase: string }>(`/v1/documents/${shipment}`)).phase === 'concluded',
    );
    expect(await ask(CYRILLIC as string)).toMatchObject({ suspended: false, listed: false, in_force: [] });
  }, 60_000);

  it('suspends what the registry suspends, letter by letter, over pages', async () => {
    await order(CYRILLIC as string);
    await order(LATIN as string);
    await order('B1');
    await listOf(3);
    await until('all three', async () => (await listed()).length === 3);
    expect((await listed()).map(({ series, source, state }) => [series, source, state]).sort()).toEqual(
      [LATIN, CYRILLIC, 'B1'].map((series) => [series, 'list', 'open']).sort(),
    );
    const [newest] = await lists();
    expect(newest).toMatchObject({ packs: 14, account: 'main' });
    await until('their decisions', async () => (await inForce('&source=decision')).length === 3, 30_000);
    whileSuspended = new Date().toISOString();
  }, 60_000);

  it('names the decisions that suspend, with number and date, in a list of their own', async () => {
    const [found] = (await inForce('&source=decision')).filter(({ series }) => series === 'B1');
    expect(found).toMatchObject({ number: 'N-B1', date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/) });
    // The list is held when all that follows from it is recorded.
    const held = async () =>
      (await raw<z.infer<typeof suspendedListPage>>('/v1/suspended-lists?source=decisions')).items.find(
        ({ decisions }) => decisions === 3,
      );
    await until('their list', async () => (await held()) !== undefined, 30_000);
    expect(await held()).toMatchObject({ series: 3, source: 'decisions' });
    expect(await ask('B1')).toMatchObject({ suspended: true, decided: true, decisions: { decisions: 3 } });
    const words = await printed(() => showSuspension(stack.client, found?.suspension_id ?? '', { recent: '30' }));
    expect(words).toContain('Suspended by decision N-B1 of ');
  });

  it('answers for the shipment by the list of then, and for now by that of now', async () => {
    const then = await ask(CYRILLIC as string, `?document=${shipment}`);
    expect(then).toMatchObject({ suspended: false, listed: false, list: { series: 0 }, suspended_now: true });
    expect(then.list?.age_seconds).toBeGreaterThanOrEqual(0);
    expect(then.list?.age_seconds).toBeLessThan(60);
    expect(await ask(CYRILLIC as string)).toMatchObject({ suspended: true, listed: true, look_alikes: [LATIN] });
    const words = await printed(() =>
      askSuspension(stack.client, { gtin: GTIN, series: CYRILLIC as string, document: shipment }),
    );
    expect(words).toMatch(/suspended then\s+no/);
    expect(words).toMatch(/suspended now\s+yes/);
  });

  it('shows our packs of it by branch: what was shipped, recently, and by whom', async () => {
    await stack.caughtUp();
    const [found] = (await listed()).filter(({ series }) => series === CYRILLIC);
    const detail = await raw<z.infer<typeof suspensionDetail>>(`/v1/suspensions/${found?.suspension_id}`);
    expect(detail.matches).toEqual([{ gtin: GTIN, series: CYRILLIC }]);
    // The series of a pack is known where a document has told it. Here none has: it is told beside the series.
    expect(detail.affected).toMatchObject([{ gtin: GTIN, series: CYRILLIC, branches: [] }]);
    expect(detail.series_unknown).toMatchObject([{ gtin: GTIN, packs: 1, branches: [{ branch: WAREHOUSE }] }]);
    const { items } = await raw<z.infer<typeof packPage>>(detail.series_unknown[0]?.packs_at ?? '');
    expect(items.map((one) => one.sgtin)).toEqual([sgtin('C', 0)]);
    const words = await printed(() => showSuspension(stack.client, found?.suspension_id ?? '', { recent: '30' }));
    expect(words).toContain('Suspended by the list as of');
    expect(words).toContain(`1 packs of ${GTIN} have no series that a document has told`);
  });

  it('releases nothing by an empty list, until a person confirms it', async () => {
    // Nobody reads while it becomes empty: a list that has lost one of three is believed.
    await stack.worker.stop();
    for (const series of [LATIN, CYRILLIC, 'B1']) await order(series as string, 'cancel');
    stack.worker = await startWorker(workerConfig(stack.env));
    await listOf(0);
    expect((await lists())[0]).toMatchObject({ doubt: 'empty', vanished: 3 });
    expect(await listed()).toHaveLength(3);
    await until('the ended decisions', async () => (await inForce('&source=decision')).length === 0, 30_000);
    expect(await listed()).toHaveLength(3);
    expect(await ask('B1')).toMatchObject({ suspended: true, listed: false, list: { doubt: 'empty' } });
    expect(await printed(() => listSuspendedLists(stack.client, { limit: '5' }))).toContain('empty');
    const sha256 = (await lists())[0]?.list_sha256 ?? '';
    await expect(confirmSuspendedList(stack.client, 'b'.repeat(64), 'a wrong one')).rejects.toThrow('only the newest');
    await printed(() => confirmSuspendedList(stack.client, sha256, 'the inspectorate says so'));
    await until('all released', async () => (await inForce()).length === 0, 30_000);
    expect(await ask('B1', `?at=${whileSuspended}`)).toMatchObject({ suspended: true, suspended_now: false });
  }, 60_000);

  it('takes a letter, which a person matches, replies to and closes, in this order alone', async () => {
    const file = join(stack.folder, 'letter.pdf');
    writeFileSync(file, '%PDF-1.4 a letter');
    const letter = { number: '01И-77/26', date: '2026-03-02', from: 'the inspectorate', file, reason: 'it came today' };
    const entered = { ...letter, action: 'recall', product: 'Aspirin, tablets', series: LATIN as string };
    const [id = ''] = (await printed(() => enterSuspension(stack.client, entered))).split(':');
    expect(await printed(() => enterSuspension(stack.client, entered))).toContain(`${id}: unmatched`);
    await expect(enterSuspension(stack.client, { ...entered, series: 'A2' })).rejects.toThrow('entered already');
    const act = (action: object) => actOnSuspension(stack.client, id, { ...action, reason: 'for the test' });
    const reply = { action: 'reply', places: placesIn([`${WAREHOUSE}=0,0,0,0`]) };
    await expect(act(reply)).rejects.toThrow('match it first');
    const twice = matchesIn([`${GTIN}=${CYRILLIC}`, `${GTIN}=${CYRILLIC}`]);
    await expect(act({ action: 'match', matches: twice })).rejects.toThrow('names a series twice');
    await printed(() => act({ action: 'match', matches: matchesIn([`${GTIN}=${CYRILLIC}`]) }));
    await expect(act({ action: 'close' })).rejects.toThrow('no reply yet');
    await printed(() => act(reply));
    expect(await printed(() => act({ action: 'close' }))).toContain('recall, closed');
    // The letter is in force with its first event, its match comes with a later one: all of them are waited for.
    await stack.caughtUp();
    expect(await inForce()).toHaveLength(1);
    const detail = await raw<z.infer<typeof suspensionDetail>>(`/v1/suspensions/${id}`);
    expect(detail).toMatchObject({ in_force: true, look_alikes: [CYRILLIC], reply: { version: 1 } });
    const answer = await fetch(`${stack.gateway.url}/v1/evidence/${detail.letter_sha256}`);
    expect(await answer.text()).toBe('%PDF-1.4 a letter');
    expect(await ask(CYRILLIC as string)).toMatchObject({ suspended: true, listed: false, in_force: [id] });
    expect(await ask(LATIN as string)).toMatchObject({ suspended: false, in_force: [] });
    const release = { ...letter, number: '01И-99/26', to: 'release' };
    expect(await printed(() => changeSuspension(stack.client, id, release))).toContain('release, open');
    await expect(act({ action: 'close' })).rejects.toThrow('no reply yet');
    const all = { limit: '10', all: true };
    await until('the release', async () => (await inForce()).length === 0);
    expect(await printed(() => listSuspensions(stack.client, all))).toContain('01И-99/26');
  }, 60_000);

  it('reaches the ERP beside the outcomes', async () => {
    const types = async () => {
      const { items } = await raw<{ items: { type: string; data: { action: string } }[] }>('/v1/outcomes?limit=500');
      return items.flatMap(({ type, data }) => (type === 'pedigree.suspension.changed.v1' ? [data.action] : []));
    };
    await until('nine changes, and six by decisions', async () => (await types()).length === 15);
    expect((await types()).slice(-3)).toEqual(['recall', 'recall', 'release']);
  });

  it('confirms a doubted list of decisions by its digest, and no other list', async () => {
    await stack.worker.stop();
    const store = new PostgresEventStore({ pool: stack.db.pool });
    const told = await store.readStream(DECISION_LIST_STREAM, { limit: 1_000 });
    const last = told.at(-1);
    if (last === undefined) throw new Error('no decisions were held');
    const listSha256 = 'd'.repeat(64);
    const data = { ...last.data, fetchId: 'doubted', listSha256, doubt: 'empty' };
    const { type, schemaVersion, metadata } = last;
    await store.append(DECISION_LIST_STREAM, last.version, [{ id: randomUUID(), type, schemaVersion, data, metadata }]);
    await printed(() => confirmSuspendedList(stack.client, listSha256, 'the inspectorate says so'));
    const confirmed = await store.readStream(DECISION_LIST_STREAM, { fromVersion: last.version + 2 });
    expect(confirmed.map((one) => [one.type, one.data['listSha256']])).toEqual([
      ['SuspendedListConfirmed', listSha256],
    ]);
    await store.close();
    stack.worker = await startWorker(workerConfig(stack.env));
  }, 60_000);

  it('keeps the manners of the registry', async () => {
    expect((await stack.control<{ byRule: object }>('/violations')).byRule).toEqual({});
  });
});
