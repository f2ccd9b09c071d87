import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway } from '../../apps/gateway/src/gateway.js';
import { startSandbox, type SandboxOptions } from '../../apps/sandbox/src/main.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { loadProfile, type BUILT_IN_PROFILES } from '#registry-client';
import { caughtUp } from '../support/caught-up.js';
import { testDatabase } from '../support/database.js';
import { askControl } from '../support/sandbox-control.js';
import { temporaryFolder } from '../support/temporary-folder.js';

export type ProfileName = (typeof BUILT_IN_PROFILES)[number];

/**
 * Every wait of the interface, shortened for both sides alike: the sandbox judges by the same file by which the worker waits. A `land_late`
 * takes up to a third of the first, a FAILED that turns up to half of the second. The guard is wide, for several stacks share one event loop here,
 * which may hold a call back between its slot and its first byte.
 */
const RULES = {
  ...{ unknownGraceMs: 1_500, failedGraceMs: 2_000, statusAfterSendMs: 200, receiptAfterStatusMs: 200, statusPollMs: 200, receiptPollMs: 200 },
  ...{ requestTimeoutMs: 5_000, guardMs: 40 },
};
const INTERVAL_MS = 50;

export interface QuickStack {
  client: GatewayClient;
  /** Asks the control port, with a body to tell it something. A refusal throws. */
  control<T>(path: string, body?: object): Promise<T>;
  /** Waits until lists and histories show all that has happened. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** A sandbox, a gateway and a worker in this process, over a database of their own, with the short waits. */
export async function quickStack(profile: ProfileName, options: SandboxOptions): Promise<QuickStack> {
  const [db, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
  const overrides = join(folder.path, 'overrides.json');
  const operations = Object.fromEntries(Object.keys(loadProfile(profile).operations).map((name) => [name, { intervalMs: INTERVAL_MS }]));
  writeFileSync(overrides, JSON.stringify({ rules: RULES, operations }));
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32));
  const sandbox = await startSandbox({ language: 'en', processingMs: 50, profile, profileOverrides: overrides, ...options });
  const env = {
    ...{ DATABASE_URL: db.url, PORT: '0', LOG_LEVEL: 'silent', REGISTRY_URL: sandbox.url, REGISTRY_PROFILE: profile, REGISTRY_PROFILE_OVERRIDES: overrides },
    ...{ PEDIGREE_KEY_FILE: join(folder.path, 'key'), PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')) },
  };
  const gateway = await startGateway(gatewayConfig(env));
  const worker = await startWorker(workerConfig(env));
  const control = <T>(path: string, body?: object): Promise<T> => askControl<T>(sandbox.controlUrl, path, body);
  const stop = async (): Promise<void> => {
    await worker.stop();
    await gateway.stop();
    await sandbox.stop();
    await db.drop();
    await folder.remove();
  };
  return { client: new GatewayClient(gateway.url), control, caughtUp: () => caughtUp(gateway.url), stop };
}
