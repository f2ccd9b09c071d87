import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';
import { participant, readWorld } from '../../apps/cli/src/sample/world.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import type { PedigreeError } from '#kernel';
import type { DocumentDetail } from '#read-models';
import { loadProfile } from '#registry-client';
import { arrival } from '../bench/load.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
const PACKS = 25_000;
/**
 * Every document of this scenario is a large one to the worker; the first is above the registry's own limit, too, and
 * has six parts.
 */
const RULES = { unknownGraceMs: 2_000, requestTimeoutMs: 4_000, maxDocumentBytes: 2_000, uploadPartBytes: 200_000 };
const KILL_AFTER_PARTS = 2;

/**
 * What strikes the others, each of its own account, and what their lives look like before the registry's answer; in an
 * order in which no trouble strikes another's call.
 */
const TROUBLES = {
  south: {
    fault: 'drop_connection_after_work',
    method: 'send_finished',
    life: ['SendAttempted', 'UploadOpened', 'UploadFinishAttempted', 'UploadFinishUnconfirmed', 'DocumentSent'],
  },
  retail: {
    fault: 'drop_connection_before_work',
    method: 'send_finished',
    life: [
      'SendAttempted',
      'UploadOpened',
      'UploadFinishAttempted',
      'UploadFinishUnconfirmed',
      'UploadSeenOpen',
      'UploadProvenOpen',
      'UploadFinishAttempted',
      'DocumentSent',
    ],
  },
  north: {
    fault: 'drop_connection_after_work',
    method: 'send_large',
    life: ['SendAttempted', 'SendUnconfirmed', 'UploadOpened', 'UploadFinishAttempted', 'DocumentSent'],
  },
};
type Account = keyof typeof TROUBLES;
const ACCOUNTS = Object.keys(TROUBLES) as Account[];
const RECEIPT = ['StatusObserved', 'ReceiptStored', 'DocumentConcluded'];

let stack: Stack;
const documents = new Map<string, DocumentDetail>();
let partsBeforeTheKill = 0;

const callsOf = async (account: string, method: string): Promise<number> =>
  (await stack.control<{ calls: { account: string; method: string; calls: number }[] }>('/truth/calls')).calls.find(
    (one) => one.account === account && one.method === method,
  )?.calls ?? 0;

/** An arrival of as many packs as a document may name. */
function longArrival(): string {
  const world = readWorld(sandboxFile('data/world.json'));
  const own = participant(world, 'own');
  const product = world.products[0] as (typeof world.products)[number];
  const supplier = participant(world, product.supplier).branches[0] as string;
  const items = Array.from(
    { length: PACKS },
    (_, index) => `<sgtin>${product.gtin}LARGE000${String(index).padStart(5, '0')}</sgtin>`,
  ).join('');
  return (
    `<documents version="1.38"><accept action_id="701"><subject_id>${own.branches[0]}</subject_id><counterparty_id>` +
    `${supplier}</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date><order_details>${items}` +
    '</order_details></accept></documents>'
  );
}

/** A worker as a process of its own, killed as soon as some of the parts are at the registry. */
async function killInTheMiddle(): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(builtFile('apps/worker/src/main.js'))], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...stack.env },
  });
  const ended = once(child, 'exit');
  await until('parts are uploaded', async () => (await callsOf('main', 'upload_part')) >= KILL_AFTER_PARTS, LIMIT_MS);
  child.kill('SIGKILL');
  expect((await ended)[1]).toBe('SIGKILL');
  partsBeforeTheKill = await callsOf('main', 'upload_part');
}

const show = (requestId: string): Promise<DocumentDetail | undefined> =>
  stack.client.get<DocumentDetail>(`/v1/documents/${requestId}`).catch((error: Error): undefined => {
    if ((error as PedigreeError).code !== 'not_found') throw error;
  });

beforeAll(async () => {
  stack = await startStack({
    sandbox: ['--seed', '21', '--processing-ms', '100'],
    overrides: { rules: RULES },
  });
  // The first worker is to be a process, so that it can be killed.
  await stack.worker.stop();
  const requestIds = new Map<string, string>();
  const give = async (account: string, xml: string): Promise<void> => {
    requestIds.set(
      account,
      (await stack.client.command(JSON.stringify({ command_id: `large-${account}`, account, xml }))).request_id,
    );
  };
  await give('main', longArrival());
  await killInTheMiddle();
  stack.worker = await startWorker(workerConfig(stack.env));
  await until('the first is sent', async () => (await callsOf('main', 'send_finished')) > 0, LIMIT_MS);
  const world = readWorld(sandboxFile('data/world.json'));
  for (const [number, account] of ACCOUNTS.entries()) {
    const { fault, method } = TROUBLES[account];
    await stack.control('/faults', { fault, method });
    await give(account, arrival(world, number, 'TROUB').xml);
    await until(
      `${fault} strikes`,
      async () => (await stack.control<{ open: unknown[] }>('/faults')).open.length === 0,
      LIMIT_MS,
    );
  }
  for (const requestId of requestIds.values())
    await until(`${requestId} ends`, async () => (await show(requestId))?.outcome !== undefined, LIMIT_MS);
  for (const [account, requestId] of requestIds) documents.set(account, (await show(requestId)) as DocumentDetail);
}, 600_000);

afterAll(() => stack?.stop());

/** Without what may come at any place, and without the looks at it in work, whose number is the machine's. */
const isTold = ({ type, data }: { type: string; data: unknown }): boolean =>
  type !== 'DocumentDownloaded' && (data as { status?: string }).status !== 'processing';
const lifeOf = (account: string): string[] =>
  (documents.get(account) as DocumentDetail).timeline.filter(isTold).map((one) => one.type);
/** Without attempts that never left: on a slow machine a kept connection is gone just as a call begins. */
const withoutUndelivered = (types: string[]): string[] =>
  types.filter((type, n) => ![type, type === 'SendAttempted' ? types[n + 1] : ''].includes('SendNotDelivered'));

describe('documents above the limit of a plain send', () => {
  it('are accepted, each, and taken once', async () => {
    expect([...documents.values()].map((one) => one.outcome)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
    const truth = await stack.control<{ documents: { request_id: string; sends: number; result: string }[] }>(
      '/truth/documents',
    );
    expect(truth.documents.map((one) => [one.request_id, one.sends, one.result]).sort()).toEqual(
      [...documents.values()].map((one) => [one.requestId, 1, 'Accepted']).sort(),
    );
  });

  it('go on after a kill where they were: announced once, ended once, and no part twice but the one in the air', async () => {
    const { timeline } = documents.get('main') as DocumentDetail;
    const { byteLength } = timeline[0]?.data as { byteLength: number };
    expect(byteLength).toBeGreaterThan(loadProfile('interface-v1').rules.maxDocumentBytes);
    const parts = Math.ceil(byteLength / RULES.uploadPartBytes);
    expect(partsBeforeTheKill).toBeLessThan(parts);
    expect(lifeOf('main')).toEqual([
      'DocumentRegistered',
      'SendAttempted',
      'UploadOpened',
      'UploadFinishAttempted',
      'DocumentSent',
      ...RECEIPT,
    ]);
    expect(await callsOf('main', 'send_large')).toBe(1);
    expect(await callsOf('main', 'send_finished')).toBe(1);
    expect([parts, parts + 1]).toContain(await callsOf('main', 'upload_part'));
  });

  it.each(ACCOUNTS)('live through an answer that was lost, and say so (%s)', (account) => {
    expect(withoutUndelivered(lifeOf(account))).toEqual(['DocumentRegistered', ...TROUBLES[account].life, ...RECEIPT]);
  });

  // The profile, which names the pattern of such links, is in the log as a setting.
  it('leave no link behind, in no event and no table', async () => {
    const { rows } = await stack.db.pool.query<{ n: bigint }>(
      `SELECT count(*) AS n FROM event WHERE type <> 'ConfigurationChanged' AND convert_from(data, 'UTF8') LIKE ` +
        `'%webdav%'`,
    );
    expect(rows[0]?.n).toBe(0n);
    expect((await stack.db.pool.query('SELECT request_id FROM upload_link')).rows).toEqual([]);
  });

  it('break no rule of the registry', async () => {
    expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
  });
});
