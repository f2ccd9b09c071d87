import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firing } from '../../../test/support/alert-rules.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import { cosignaturesIn, newSigningKey, noteSigner, parseWitnessKey, verifierKeyOf, witnessKeyOf } from '#merkle';
import { runProgram, thisProcess } from '#service';
import { WitnessedLog } from '../test/witnessed-log.js';
import { describeWitnessConfig, witnessConfig } from './config.js';
import { witnessProgram } from './program.js';

const NAME = 'witness.example/w1';
const PEM = newSigningKey();

let folder: TemporaryFolder;
let log: WitnessedLog;
beforeEach(async () => {
  folder = await temporaryFolder();
  log = WitnessedLog.of(30);
  writeFileSync(join(folder.path, 'key.pem'), PEM, { mode: 0o600 });
});
afterEach(() => folder.remove());

const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...{ WITNESS_NAME: NAME, WITNESS_LOGS: verifierKeyOf(log.signer), WITNESS_FOLDER: folder.path },
  ...{ PORT: '0', LOG_LEVEL: 'silent' },
  ...more,
});

/** Runs the program behind its ports, as it runs in a process of its own. */
async function whileItRuns(look: (urls: { url: string; healthUrl: string }) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined;
  const running = runProgram(() => witnessProgram(witnessConfig(env())), {
    ...thisProcess,
    onSignal: (on) => {
      interrupt = on;
      return () => undefined;
    },
    out: (line) => lines.push(line),
    exit: () => undefined,
  });
  try {
    await until('its port is open', () => lines.length > 0);
    const urls = JSON.parse(lines[0] ?? '') as { url: string; healthUrl: string };
    await until('it serves', async () => (await fetch(`${urls.healthUrl}/health/ready`)).status === 200);
    await look(urls);
  } finally {
    interrupt('SIGTERM');
    expect(await running).toBe(0);
  }
}

describe('the witness as a program', () => {
  it('cosigns over HTTP, goes on after a start, and tells how far it is', async () => {
    for (const [old, size] of [
      [0, 10],
      [10, 30],
    ] as const)
      await whileItRuns(async ({ url, healthUrl }) => {
        const ask = async (body: string) => fetch(`${url}/add-checkpoint`, { method: 'POST', body });
        const conflict = await ask(await log.request(5, size));
        expect([conflict.status, conflict.headers.get('content-type'), await conflict.text()]).toEqual([
          409,
          'text/x.tlog.size',
          `${old}\n`,
        ]);
        const response = await ask(await log.request(old, size));
        const key = parseWitnessKey(witnessKeyOf(noteSigner(NAME, PEM)));
        expect(cosignaturesIn(`${await log.note(size)}${await response.text()}`, [key])).toHaveLength(1);
        const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
        expect(metrics).toMatch(new RegExp(`^pedigree_witness_size\\{.*log="${log.signer.name}".* ${size}$`, 'm'));
        expect(metrics).toMatch(/^pedigree_witness_answers_total\{.*status="409".* 1$/m);
        expect(firing([metrics])).toEqual([]);
      });
  });

  it('raises the alarm when the log signs another tree, and still after a start', async () => {
    const fork = WitnessedLog.fork(log, 5, 30);
    const isToldOf = async (healthUrl: string): Promise<void> => {
      expect(await (await fetch(`${healthUrl}/health/ready`)).json()).toMatchObject({
        status: 'degraded',
        degraded: [
          { name: `log ${log.signer.name}`, reason: expect.stringMatching(/is not shown to follow.*\.refused has it/) },
        ],
      });
      const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
      expect(firing([metrics])).toEqual([`WitnessedLogContradicts ${log.signer.name}`]);
    };
    await whileItRuns(async ({ url, healthUrl }) => {
      await fetch(`${url}/add-checkpoint`, { method: 'POST', body: await log.request(0, 10) });
      const refused = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: await fork.request(10, 20) });
      expect(refused.status).toBe(422);
      await isToldOf(healthUrl);
    });
    await whileItRuns(({ healthUrl }) => isToldOf(healthUrl));
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.refused'))).toHaveLength(1);
  });

  it('takes no long body, no other path and no other method', async () => {
    await whileItRuns(async ({ url }) => {
      const long = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: 'x'.repeat(300_000) });
      expect(long.status).toBe(413);
      expect((await fetch(`${url}/add-checkpoint`)).status).toBe(405);
      expect((await fetch(`${url}/other`, { method: 'POST', body: 'x' })).status).toBe(404);
    });
  });

  it('does not start on a damaged file or a key that all can read, and says which', async () => {
    const said: string[] = [];
    const started = (): Promise<number> =>
      runProgram(() => witnessProgram(witnessConfig(env())), {
        ...thisProcess,
        onSignal: () => () => undefined,
        out: () => undefined,
        say: (line) => said.push(line),
        exit: () => undefined,
      });
    await whileItRuns(async ({ url }) => {
      await fetch(`${url}/add-checkpoint`, { method: 'POST', body: await log.request(0, 10) });
    });
    const [file = ''] = readdirSync(folder.path).filter((name) => name !== 'key.pem');
    writeFileSync(join(folder.path, file), '');
    expect(await started()).toBe(2);
    expect(said.pop()).toMatch(new RegExp(`^pedigree witness: WITNESS_FOLDER: .*${file} is damaged`));
    chmodSync(folder.path, 0o755);
    chmodSync(join(folder.path, 'key.pem'), 0o644);
    expect(await started()).toBe(2);
    expect(said.pop()).toMatch(/^pedigree witness: WITNESS_KEY_FILE: every user of this machine can read or change/);
  });

  it.each([
    [{ WITNESS_NAME: 'two words' }, /^WITNESS_NAME/],
    [{ WITNESS_LOGS: ' , ' }, /^WITNESS_LOGS: must name/],
    [{ WITNESS_LOGS: 'nonsense' }, /^WITNESS_LOGS: this is not a verifier key: nonsense/],
    [{ WITNESS_FOLDER: undefined }, /^WITNESS_FOLDER: must be set/],
  ])('names the variable that is wrong: %j', (wrong, why) => expect(() => witnessConfig(env(wrong))).toThrow(why));

  it('listens on loopback unless it is told otherwise, and shows no key', () => {
    const config = witnessConfig({ ...env(), PORT: undefined });
    expect(describeWitnessConfig(config)).toMatchObject({ host: '127.0.0.1', port: 8090, name: NAME });
    expect(JSON.stringify(describeWitnessConfig(config))).not.toContain('PRIVATE');
  });
});
