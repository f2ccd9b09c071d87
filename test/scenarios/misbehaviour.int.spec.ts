import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { sandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway } from '../../apps/gateway/src/gateway.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { systemClock } from '#kernel';
import { arrival } from '../bench/load.js';
import { testDatabase } from '../support/database.js';
import { askControl } from '../support/sandbox-control.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { buildPrograms } from './built-programs.js';

const ACCOUNTS = ['main', 'north', 'south', 'retail'];
const DOCUMENTS = 6;
const LIMIT_MS = 180_000;
/** A send that lands late does so within 2 s, and the grace must outlast it; the rest only keeps the test short. */
const RULES = { unknownGraceMs: 4_000, requestTimeoutMs: 5_000, statusPollMs: 1_000, receiptPollMs: 1_000, failedGraceMs: 4_000 };

interface Trial {
  seed: number;
  profile: 'interface-v1' | 'mdlp';
}
const TRIALS: Trial[] = [{ seed: 11, profile: 'interface-v1' }, { seed: 12, profile: 'interface-v1' }, { seed: 13, profile: 'mdlp' }];

interface Running extends Trial {
  client: GatewayClient;
  truth<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

const stops: (() => Promise<void>)[] = [];
const running: Running[] = [];

async function startTrial({ seed, profile }: Trial): Promise<Running> {
  const folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32));
  writeFileSync(join(folder.path, 'overrides.json'), JSON.stringify({ rules: RULES }));
  const db = await testDatabase();
  // A FAILED that turns within ten minutes is the business of faults.int.spec.ts, where the grace can be short.
  const flags = ['--seed', String(seed), '--misbehave', '0.05', '--knob', 'failed_then_processed=0'];
  const sandbox = await sandboxProcess({ dataDir: join(folder.path, 'sandbox'), profile, flags });
  const env = {
    ...{ DATABASE_URL: db.url, PORT: '0', LOG_LEVEL: 'silent', REGISTRY_URL: sandbox.url, REGISTRY_PROFILE: profile },
    ...{ REGISTRY_PROFILE_OVERRIDES: join(folder.path, 'overrides.json'), PEDIGREE_KEY_FILE: join(folder.path, 'key') },
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
  };
  const gateway = await startGateway(gatewayConfig(env));
  const worker = await startWorker(workerConfig(env));
  const truth = <T>(path: string): Promise<T> => askControl<T>(sandbox.controlUrl, path);
  const stop = async (): Promise<void> => {
    await worker.stop();
    await gateway.stop();
    await sandbox.stop();
    await db.drop();
    await folder.remove();
  };
  return { seed, profile, client: new GatewayClient(gateway.url), truth, stop };
}

async function feed({ client, seed }: Running): Promise<void> {
  const world = readWorld(sandboxFile('data/world.json'));
  const commands = Array.from({ length: DOCUMENTS }, (_, n) => ({ command_id: `bad-day-${n}`, account: ACCOUNTS[n % ACCOUNTS.length], xml: arrival(world, n, `BAD${seed}`).xml }));
  for await (const result of client.send(commands)) if ('error' in result) throw new Error(result.error.detail);
}

beforeAll(async () => {
  await buildPrograms();
  process.stderr.write(`misbehaviour at 5 % in every way at once, seeds ${TRIALS.map((one) => one.seed).join(', ')}\n`);
  for (const trial of TRIALS) {
    const one = await startTrial(trial);
    stops.push(one.stop);
    running.push(one);
    await feed(one);
  }
  const endMs = systemClock.monotonicMs() + LIMIT_MS;
  const open = async (): Promise<number> => {
    const counts = await Promise.all(running.map((one) => one.client.get<{ documents: number; unfinished: number }>('/v1/summary')));
    return counts.reduce((sum, one) => sum + DOCUMENTS - (one.documents - one.unfinished), 0);
  };
  while ((await open()) > 0 && systemClock.monotonicMs() < endMs) await systemClock.wait(500);
}, LIMIT_MS + 60_000);

afterAll(async () => {
  for (const stop of stops) await stop();
});

describe.each(TRIALS.map((trial, n) => ({ ...trial, n })))('a registry that misbehaves in every way, seed $seed, $profile', ({ n }) => {
  it('ends every document as it should, in the end', async () => {
    const outcomes: unknown[] = [];
    for await (const row of (running[n] as Running).client.list<{ outcome?: string }>('/v1/documents')) outcomes.push(row.outcome);
    expect(outcomes).toEqual(Array.from({ length: DOCUMENTS }, () => 'accepted'));
  });

  it('has each document once, and saw no rule broken by us', async () => {
    const { truth } = running[n] as Running;
    const { documents } = await truth<{ documents: { request_id: string; sends: number }[] }>('/truth/documents?limit=1000');
    expect(new Set(documents.map((one) => one.request_id)).size).toBe(DOCUMENTS);
    expect(documents).toHaveLength(DOCUMENTS);
    expect(documents.map((one) => one.sends)).toEqual(Array.from({ length: DOCUMENTS }, () => 1));
    expect(await truth('/violations')).toMatchObject({ violations: [], count: 0 });
  });

  it('did misbehave', async () => {
    const { knobs } = await (running[n] as Running).truth<{ knobs: { strikes: number }[] }>('/misbehaviour');
    expect(knobs.filter((one) => one.strikes > 0).length).toBeGreaterThan(2);
  });
});
