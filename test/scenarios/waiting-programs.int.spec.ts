import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { PROGRAMS } from '../../apps/cli/src/programs.js';
import { systemClock } from '#kernel';
import { runProgram, type Surroundings } from '#service';
import { firing } from '../support/alert-rules.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';

/** Nobody listens there. */
const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing';

let folder: TemporaryFolder;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  folder = await temporaryFolder();
  const key = join(folder.path, 'key');
  writeFileSync(key, 'ab'.repeat(32), { mode: 0o600 });
  env = {
    ...{ DATABASE_URL: NOWHERE, LOG_LEVEL: 'silent', PORT: '0', REGISTRY_URL: 'http://127.0.0.1:1' },
    ...{ PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')), PEDIGREE_KEY_FILE: key },
    ...{ AUDIT_KEY_FILE: key, AUDIT_FOLDER: join(folder.path, 'auditor') },
  };
});
afterAll(() => folder.remove());

/** The metrics of a program that waits for its database, from its first moment on. */
async function metricsWhileWaiting(name: string): Promise<string> {
  let end = (_: NodeJS.Signals): void => undefined;
  let healthUrl = (_: string): void => undefined;
  const told = new Promise<string>((resolve) => (healthUrl = resolve));
  const surroundings: Surroundings = {
    onSignal: (on) => ((end = on), () => undefined),
    out: (line) => healthUrl((JSON.parse(line) as { healthUrl: string }).healthUrl),
    say: () => undefined,
    exit: () => undefined,
    clock: systemClock,
  };
  const line = await PROGRAMS[name]?.line();
  const ended = runProgram(() => line?.make(env) as ReturnType<NonNullable<typeof line>['make']>, surroundings);
  const text = await (await fetch(`${await told}/metrics`)).text();
  end('SIGTERM');
  expect(await ended).toBe(0);
  return text;
}

describe('a program whose database is away since before it was started', () => {
  it.each(['gateway', 'worker', 'auditor', 'reconciler'])('raises the alert ServiceAway: %s', async (name) => {
    const text = await metricsWhileWaiting(name);
    expect(firing([text])).toContain(`ServiceAway ${name} postgresql`);
    // A gateway that never gets up, whatever it says of its database, is missed as one of which nothing is heard.
    if (name === 'gateway') expect(text).not.toContain('pedigree_info');
  });
});
