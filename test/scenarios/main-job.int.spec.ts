import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { sampleDay, type SampleCommand } from '../../apps/cli/src/sample/day.js';
import { feed, summarise, waitForConclusion, type OutcomeRow } from '../../apps/cli/src/sample/feed.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import type { DocumentDetail, SgtinHistory } from '#read-models';
import { sha256Hex } from '#kernel';
import { startStack, TRUE_WAITS, type Stack } from './stack.js';
import { patient } from '../support/until.js';

/** Five turns of the day's chains at four branches: every kind of chain once per branch. */
const CONSIGNMENTS = 20;
const LIMIT_MS = 180_000;

let stack: Stack;
let day: SampleCommand[];

beforeAll(async () => {
  // The one scenario that waits as long as the registry wants it. Other specs share this machine, and may hold a call
  // back between its slot and its first byte: the distance kept on top of each interval is wide.
  stack = await startStack({
    waits: TRUE_WAITS,
    overrides: { rules: { guardMs: 40 } },
    sandbox: { seed: 7 },
    env: { LOG_LEVEL: 'error' },
  });
  day = sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: 7,
    run: 'SCEN7',
    accounts: ['main', 'north', 'south', 'retail'],
    at: new Date('2026-03-02T07:00:00Z'),
    consignments: CONSIGNMENTS,
  });
  await feed(stack.client, day);
  await waitForConclusion(stack.client, {
    commands: day,
    signal: AbortSignal.timeout(patient(LIMIT_MS)),
    limitMs: patient(LIMIT_MS),
    progress: () => undefined,
  });
  await stack.caughtUp();
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

async function rows(): Promise<(OutcomeRow & { requestId: string; documentSha256: string; receiptSha256?: string })[]> {
  const all: (OutcomeRow & { requestId: string; documentSha256: string; receiptSha256?: string })[] = [];
  for await (const row of stack.client.list<(typeof all)[number]>('/v1/documents?limit=17')) all.push(row);
  return all;
}

describe('a day from the command to the answer', () => {
  it('ends every document as the registry had reason to end it', async () => {
    const summary = summarise(day, await rows());
    expect(summary).toMatchObject({ documents: day.length, unfinished: 0, unexpected: [] });
    expect(Math.min(summary.accepted, summary.partial, summary.rejected, summary.failed)).toBeGreaterThan(0);
  });

  it('breaks no rule of the interface and meets no 429', async () => {
    expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
    expect(stack.worker.callFigures().reduce((sum, one) => sum + one.rateLimited, 0)).toBe(0);
  });

  it('sends each request_id once', async () => {
    const { documents } = await stack.control<{ documents: { request_id: string; sends: number }[] }>(
      '/truth/documents?limit=1000',
    );
    expect(documents.map((one) => one.request_id).sort()).toEqual((await rows()).map((one) => one.requestId).sort());
    expect(documents.every((one) => one.sends === 1)).toBe(true);
  });

  it('sends nothing before what it comes after has concluded', async () => {
    const { documents } = await stack.control<{
      documents: { request_id: string; accepted_at: string; processed_at: string }[];
    }>('/truth/documents?limit=1000');
    const byRequest = new Map(documents.map((one) => [one.request_id, one]));
    const requestIds = new Map((await rows()).map((one) => [one.commandId, one.requestId]));
    const at = (commandId: string) =>
      byRequest.get(requestIds.get(commandId) as string) as { accepted_at: string; processed_at: string };
    const chained = day.filter((one) => one.after.length > 0);
    expect(chained.length).toBeGreaterThan(CONSIGNMENTS);
    for (const one of chained) {
      for (const before of one.after)
        expect(Date.parse(at(before).processed_at)).toBeLessThanOrEqual(Date.parse(at(one.commandId).accepted_at));
    }
  });

  it('keeps the evidence of each document: its bytes and its receipt, under their digests', async () => {
    for (const row of (await rows()).slice(0, 10)) {
      for (const sha256 of [row.documentSha256, ...(row.receiptSha256 === undefined ? [] : [row.receiptSha256])]) {
        const answer = await fetch(`${stack.gateway.url}/v1/evidence/${sha256}`);
        expect(sha256Hex(Buffer.from(await answer.arrayBuffer()))).toBe(sha256);
      }
    }
  });

  it('tells a pack’s life, its container’s included, with document, receipt and evidence', async () => {
    // Turn 1 packs 100 packs into a box, moves the box, and unpacks it.
    const boxed = day.find((one) => one.document.action_id === 912) as SampleCommand;
    const chain = boxed.commandId.split('-')[2] as string;
    const packed = day.find(
      (one) => one.document.action_id === 911 && one.commandId.includes(`-${chain}-`),
    ) as SampleCommand;
    const sgtin = (packed.document['content'] as { sgtin: string[] }).sgtin[3] as string;
    const history = await stack.client.get<SgtinHistory>(`/v1/packs/${sgtin}/history`);
    expect(history.movements.map((one) => [one.docType, one.result, one.through])).toEqual([
      [701, 'applied', undefined],
      [911, 'applied', undefined],
      [431, 'applied', 'container'],
      [912, 'applied', 'container'],
    ]);
    expect(history.container).toBeUndefined();
    const seen = await stack.control<{ owner: string; status: string; place: string }>(`/truth/packs/${sgtin}`);
    expect([history.status, history.place]).toEqual([seen.status, seen.place]);
    for (const movement of history.movements) expect(movement.receiptSha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('names the items that a partial receipt refused, and leaves them out of the movement', async () => {
    const partial = day.find((one) => one.expected === 'partial') as SampleCommand;
    const row = (await rows()).find((one) => one.commandId === partial.commandId) as { requestId: string };
    const detail = await stack.client.get<DocumentDetail>(`/v1/documents/${row.requestId}`);
    expect(detail.errors).toHaveLength(5);
    const refused = detail.errors[0]?.objectId as string;
    const history = await stack.client.get<SgtinHistory>(`/v1/packs/${refused}/history`);
    expect(history.movements.map((one) => one.result)).toEqual(['refused']);
    expect(detail.timeline.map((one) => one.type)).toEqual(
      expect.arrayContaining([
        'DocumentRegistered',
        'SendAttempted',
        'DocumentSent',
        'ReceiptStored',
        'DocumentConcluded',
      ]),
    );
  });

  it('takes the whole day again as a no-op', async () => {
    const before = await stack.control<{ documents: object[] }>('/truth/documents?limit=1000');
    await feed(stack.client, day);
    expect((await rows()).length).toBe(day.length);
    expect(await stack.control('/truth/documents?limit=1000')).toEqual(before);
  });

  it('keeps no secret in the log or the evidence', async () => {
    const { rows: events } = await stack.db.pool.query(
      `SELECT convert_from(data, 'UTF8') || convert_from(metadata, 'UTF8') AS text FROM event`,
    );
    expect(events.length).toBeGreaterThan(day.length);
    const all = events.map((event) => String(event.text)).join('\n');
    expect(all).not.toContain('sandbox-secret-main');
    const { rows: sessions } = await stack.db.pool.query(
      `SELECT row_to_json(registry_session)::text AS text FROM registry_session`,
    );
    expect(sessions.length).toBeGreaterThan(0);
    expect(sessions.map((row) => String(row.text)).join()).not.toContain('token ');
  });
});
