import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { verifyProofLines } from '#proofs';
import { AnswerReading } from '../../apps/cli/src/answers/answer-reading.js';
import { startAuditor } from '../../apps/auditor/src/auditor.js';
import { auditorConfig, DEFAULT_ORIGIN } from '../../apps/auditor/src/config.js';
import { checkAudit } from '../../apps/cli/src/commands/audit-check.js';
import { cliConfig, sandboxFile } from '../../apps/cli/src/config.js';
import { sampleDay, type SampleCommand } from '../../apps/cli/src/sample/day.js';
import { feed, summarise, waitForConclusion, type OutcomeRow } from '../../apps/cli/src/sample/feed.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway } from '../../apps/gateway/src/gateway.js';
import { reconcilerConfig } from '../../apps/reconciler/src/config.js';
import { startReconciler } from '../../apps/reconciler/src/reconciler.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import type { DocumentDetail } from '#read-models';
import { testDatabase } from '../support/database.js';
import { FakeEventStore } from '../support/event-store-fake/fake-event-store.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const CONSIGNMENTS = 4;
const LIMIT_MS = 180_000;

let stack: Stack;
let day: SampleCommand[];
const fake = new FakeEventStore();

beforeAll(async () => {
  await fake.start();
  stack = await startStack({
    sandbox: { seed: 11, processingMs: 200, intervalMs: 20 },
    env: { EVENTSTORE_URL: fake.url, LOG_LEVEL: 'fatal' },
    roles: true,
  });
  const whole = sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: 11,
    run: 'SCENB',
    accounts: ['main', 'north', 'south', 'retail'],
    at: new Date('2026-03-02T07:00:00Z'),
    consignments: CONSIGNMENTS,
  });
  // The first document of each chain, and one that waits for the first of its own.
  const first = whole.filter((one) => one.after.length === 0);
  day = [...first, ...whole.filter((one) => one.after.length === 1 && one.after[0] === first[0]?.commandId)];
  await feed(stack.client, day);
  // Killed where the day is under way, and back with its data.
  await untilEvents(day.length * 2);
  await fake.stop();
  await fake.start();
  await waitForConclusion(stack.client, {
    commands: day,
    signal: AbortSignal.timeout(LIMIT_MS),
    limitMs: LIMIT_MS,
    progress: () => undefined,
  });
  await stack.caughtUp();
}, 2 * LIMIT_MS);

afterAll(async () => {
  await stack?.stop();
  await fake.stop();
});

/** Resolves when the log has that many events of ours. */
async function untilEvents(count: number): Promise<void> {
  const ours = (): number => fake.log.records.filter((record) => !record.stream.startsWith('$')).length;
  await new Promise<void>((resolve) => {
    const look = (): void => void (ours() >= count && (off(), resolve()));
    const off = fake.log.onAppend(look);
    look();
  });
}

async function rows(): Promise<(OutcomeRow & { requestId: string })[]> {
  const all: (OutcomeRow & { requestId: string })[] = [];
  for await (const row of stack.client.list<OutcomeRow & { requestId: string }>('/v1/documents?limit=50'))
    all.push(row);
  return all;
}

/** A pack of the day of which something is known. */
async function knownPack(): Promise<string> {
  for (const [pack] of JSON.stringify(day).matchAll(/\b\d{14}[0-9A-Za-z!-/:-?_]{13}(?=\W)/g))
    if ((await fetch(`${stack.gateway.url}/v1/packs/${encodeURIComponent(pack)}`)).status === 200) return pack;
  throw new Error('nothing is known of any pack of the day');
}

/** Opens a piece of evidence that an answer names; returns the log position of that. */
async function openedEvidenceOf(route: string): Promise<string> {
  const { url } = stack.gateway;
  const [sha256] = /[0-9a-f]{64}/.exec(await (await fetch(`${url}${route}`)).text()) ?? [];
  expect((await fetch(`${url}/v1/evidence/${sha256}`)).status).toBe(200);
  await stack.caughtUp();
  const { items } = await stack.client.get<{ items: { position: string }[] }>(`/v1/access-log?object=${sha256}`);
  return String(items[0]?.position);
}

async function* each(lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

/** The whole sweep is asked for. */
const SEALS_AND_SWEEPS_NOT = { AUDIT_CHECKPOINT_SECONDS: '1', AUDIT_SWEEP_HOURS: '0' };

describe('a day whose event log is a FAKE EventStoreDB that is killed on the way', () => {
  it('ends every document as the registry had reason to end it', async () => {
    expect(summarise(day, await rows())).toMatchObject({ documents: day.length, unfinished: 0, unexpected: [] });
  });

  it('sends each document once and breaks no rule of the interface', async () => {
    const { documents } = await stack.control<{ documents: { request_id: string; sends: number }[] }>(
      '/truth/documents?limit=1000',
    );
    expect(documents.map((one) => [one.request_id, one.sends]).sort()).toEqual(
      (await rows()).map((one) => [one.requestId, 1]).sort(),
    );
    expect(await stack.control('/violations')).toMatchObject({ count: 0 });
  });

  it('has every event on the server and none in the database', async () => {
    const { rows: counted } = await stack.db.pool.query<{ events: number }>(
      'SELECT count(*)::int AS events FROM event',
    );
    expect(counted[0]).toEqual({ events: 0 });
    const [row] = await rows();
    const detail = await stack.client.get<DocumentDetail>(`/v1/documents/${row!.requestId}`);
    const stored = fake.log.stream(`document-${row!.requestId}`).map((record) => record.type);
    expect(stored).toEqual(expect.arrayContaining(['DocumentRegistered', 'DocumentSent', 'DocumentConcluded']));
    expect(detail.timeline.map((one) => one.type)).toEqual(
      expect.arrayContaining(['DocumentRegistered', 'DocumentConcluded']),
    );
  });

  it('begins with whose log it is, and no program of another installation begins on it', async () => {
    const [first] = fake.log.records.filter((record) => !record.stream.startsWith('$'));
    expect([first?.stream, first?.type]).toEqual(['installation', 'InstallationBegun']);
    const other = await testDatabase();
    const keyFile = join(stack.folder, 'audit.pem');
    writeFileSync(keyFile, newSigningKey());
    const env = { ...stack.env, DATABASE_URL: other.url, AUDIT_KEY_FILE: keyFile };
    const starts = [
      () => startGateway(gatewayConfig(env)),
      () => startWorker(workerConfig(env)),
      () => startAuditor(auditorConfig(env)),
      () => startReconciler(reconcilerConfig(env)),
    ];
    try {
      for (const start of starts)
        await expect(start()).rejects.toMatchObject({
          code: 'invalid_configuration',
          message: expect.stringMatching(/^EVENTSTORE_URL: the event log at 127.0.0.1:\d+ belongs to installation /),
        });
    } finally {
      await other.drop();
    }
    expect(fake.log.stream('installation')).toHaveLength(1);
  });

  it('shows how far the read models are behind in bytes of the log, and lets them arrive', async () => {
    interface Status {
      subscriptions: { name: string; lag: string; lagUnit: string }[];
    }
    const deadline = AbortSignal.timeout(60_000);
    for (;;) {
      const { subscriptions } = await stack.client.get<Status>('/v1/operations');
      expect(subscriptions.length).toBeGreaterThan(2);
      expect(new Set(subscriptions.map((one) => one.lagUnit))).toEqual(new Set(['byte']));
      if (subscriptions.every((one) => one.lag === '0')) return;
      deadline.throwIfAborted();
    }
  });

  it('is sealed there, and what the gateway answers is proven, each program by its own role', async () => {
    const folder = join(stack.folder, 'auditor');
    mkdirSync(folder);
    const [env, keyFile] = [{ ...stack.env, DATABASE_URL: stack.roles?.url('auditor') }, join(folder, 'key.pem')];
    const pem = newSigningKey();
    writeFileSync(keyFile, pem, { mode: 0o600 });
    const own = { AUDIT_FOLDER: folder, AUDIT_KEY_FILE: keyFile, ...SEALS_AND_SWEEPS_NOT };
    const auditor = await startAuditor(auditorConfig({ ...env, ...own }));
    try {
      const key = verifierKeyOf(noteSigner(DEFAULT_ORIGIN, pem));
      const [[row], pack] = [await rows(), await knownPack()];
      const document = `/v1/documents/${row?.requestId}`;
      const opened = `/v1/access-log/${await openedEvidenceOf(document)}`;
      for (const route of [document, `/v1/packs/${pack}`, `/v1/packs/${pack}/history`, opened]) {
        await until(`${route} is proven`, async () => {
          const answer = await fetch(`${stack.gateway.url}${route}?proof=1`);
          const text = await answer.text();
          if (answer.status === 503) return false;
          expect([answer.status, answer.status === 200 ? '' : text]).toEqual([200, '']);
          const reading = new AnswerReading();
          const lines = text.split('\n').filter((line) => line !== '');
          const found = await verifyProofLines(each(lines), key, reading.listening);
          if (found.answer === undefined || found.answer.unsealed.length > 0) return false;
          expect(found.answer.body).toBe(await plainly(route, found.answer.body));
          expect(found.streams.length).toBeGreaterThan(0);
          expect((await reading.of(found.answer)).kind).toBe(route.includes('packs') ? 'unchecked' : 'follows');
          return route === opened || found.streams.every(({ whole, events }) => whole?.events === events);
        });
      }
      expect(auditor.troubles()).toEqual([]);
      // One whole sweep: events, tree, counts, evidence, and every read model built anew from this log.
      const print = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
      const status = await checkAudit(cliConfig({ ...env, ...own }), { json: true });
      const said = print.mock.calls.map(([text]) => String(text)).join('');
      print.mockRestore();
      expect([status, JSON.parse(said)]).toEqual([0, expect.objectContaining({ findings: [], skipped: [] })]);
    } finally {
      await auditor.stop();
    }
  }, 120_000);
});

/** The answer without its proof; about packs, as known up to where the proven answer says that it goes. */
async function plainly(route: string, proven: string): Promise<string> {
  const { known_at: knownAt } = JSON.parse(proven) as { known_at?: string };
  const query = knownAt === undefined ? '' : `?known_at=${knownAt}`;
  return (await fetch(`${stack.gateway.url}${route}${query}`)).text();
}
