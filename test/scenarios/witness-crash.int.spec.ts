// Left to the soak: programs are killed. `npm test` has witnesses.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WitnessedLog } from '../../apps/witness/test/witnessed-log.js';
import { newSigningKey, noteSigner, parseWitnessKey, cosignaturesIn, verifierKeyOf, witnessKeyOf } from '#merkle';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { buildPrograms, repositoryFile } from './built-programs.js';

const KILLS = 12;
const NAME = 'witness.example/w1';
const PEM = newSigningKey();
const KEY = parseWitnessKey(witnessKeyOf(noteSigner(NAME, PEM)));

let folder: TemporaryFolder;
beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'key.pem'), PEM, { mode: 0o600 });
}, 300_000);
afterAll(() => folder?.remove());

async function started(logKey: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [repositoryFile('dist/apps/witness/src/main.js')], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      ...{ WITNESS_NAME: NAME, WITNESS_LOGS: logKey, WITNESS_FOLDER: folder.path, PORT: '0', LOG_LEVEL: 'silent' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  await until('it serves', async () => (await ask(url, ''))?.status === 400);
  return { child, url };
}

/** Undefined where the process died before its answer. */
const ask = (url: string, body: string): Promise<{ status: number; text: string } | undefined> =>
  fetch(`${url}/add-checkpoint`, { method: 'POST', body }).then(
    async (response) => ({ status: response.status, text: await response.text() }),
    () => undefined,
  );

/** As a client does: it brings the size, with a proof from the one that the witness names. */
async function brought(url: string, log: WitnessedLog, size: number): Promise<string | undefined> {
  let old = 0;
  for (let turn = 0; turn < 5; turn += 1) {
    const answer = await ask(url, await log.request(Math.min(old, size), size));
    if (answer?.status !== 409) return answer?.status === 200 ? answer.text : undefined;
    old = Number(answer.text);
  }
  return undefined;
}

/** The greatest size that was cosigned of each story. */
async function noted(
  seen: Map<string, number>,
  { of, story, size, lines }: { of: WitnessedLog; story: string; size: number; lines: string | undefined },
): Promise<void> {
  if (lines === undefined) return;
  expect(cosignaturesIn(`${await of.note(size)}${lines}`, [KEY])).toHaveLength(1);
  seen.set(story, Math.max(size, seen.get(story) ?? 0));
}

describe('a witness that is killed with kill -9 as it writes', () => {
  it('has cosigned one history, whatever came first, and goes on with it', async () => {
    const log = WitnessedLog.of(KILLS * 2 + 2);
    const fork = WitnessedLog.fork(log, 1, KILLS * 2 + 2);
    const seen = new Map<string, number>();
    const tell = (of: WitnessedLog, size: number, lines: string | undefined): Promise<void> =>
      noted(seen, { of, story: of === log ? 'log' : 'fork', size, lines });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const { child, url } = await started(verifierKeyOf(log.signer));
      // The name of the new file is the moment between write and answer.
      const watching = watch(folder.path, (_event, file) => {
        if (/\.\d{12}$/.test(String(file))) child.kill('SIGKILL');
      });
      const [size, ended] = [kill * 2, once(child, 'exit')];
      const [first, second] = kill % 2 === 0 ? ([log, fork] as const) : ([fork, log] as const);
      const lines = await Promise.all([brought(url, first, size), brought(url, second, size)]);
      watching.close();
      child.kill('SIGKILL');
      await ended;
      for (const [i, of] of [first, second].entries()) await tell(of, size, lines[i]);
    }
    const { child, url } = await started(verifierKeyOf(log.signer));
    try {
      const size = KILLS * 2 + 2;
      for (const one of [log, fork]) await tell(one, size, await brought(url, one, size));
      // One of the two, and that one up to its end.
      expect([...seen.values()]).toEqual([size]);
    } finally {
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    }
  }, 240_000);
});
