import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PostgresBus } from '#bus';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { commandHere } from '../../../test/support/command-here.js';
import { testDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import { arrival, SGTIN, TestHarness } from '../../gateway/test/test-harness.js';

const execute = promisify(execFile);

let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  await buildPrograms();
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { encryptionKey: Buffer.alloc(32, 1) });
  folder = await temporaryFolder();
}, 600_000);
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});

/** What runs until a signal ends its process by itself. */
const PROGRAMS = ['worker', 'gateway', 'sandbox'];
const dataDir = (): string => join(folder.path, 'data');

/**
 * The program itself, in a process of its own, with nothing of our environment but the way to its tools. What is before
 * it, apps/cli/bin/pedigree.mjs, looks each time whether all is built; setup.int.spec.ts tries that.
 */
async function pedigree(
  args: string[],
  environment: Record<string, string> = {},
  input = '',
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [repositoryFile('dist/apps/cli/src/main.js'), ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir(), ...environment },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}

/** The same in this process, where it is not its start or end that counts. */
const here = (args: string[], environment: Record<string, string> = {}) =>
  PROGRAMS.includes(args[0] ?? '')
    ? pedigree(args, environment)
    : commandHere(args, { DATA_DIR: dataDir(), ...environment });
const toGateway = (): Record<string, string> => ({ PEDIGREE_URL: harness.gateway.url });
const withGateway = (args: string[]) => here(args, toGateway());

describe('the exit status of pedigree', () => {
  it('is 0 for help, which names every command', async () => {
    const { status, stdout } = await pedigree(['--help']);
    expect(status).toBe(0);
    for (const command of ['up', 'sandbox', 'send', 'document', 'history', 'config', 'bench'])
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
  });

  it.each([
    ['an unknown command', ['bring-back'], {}, /unknown command/],
    ['a missing argument', ['document'], {}, /missing required argument 'document'/],
    ['an unknown option', ['up', '--twice'], {}, /--twice/],
    ['a wrong variable', ['config'], { PORT: 'http' }, /^pedigree: PORT: /m],
    [
      'a wrong variable of another command',
      ['send', 'x.xml'],
      { PEDIGREE_URL: 'gateway' },
      /^pedigree: PEDIGREE_URL: /m,
    ],
    ['no gateway to talk to', ['send', 'x.xml'], {}, /^pedigree: PEDIGREE_URL: .*npm start/m],
  ])('is 2 for %s, and standard error says so', async (_what, args, environment, words) => {
    const { status, stdout, stderr } = await here(args, environment as Record<string, string>);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });

  it.each(['tasks', 'worker', 'sandbox'])('is 0 for %s --help and --version', async (name) => {
    expect(await here([name, '--help'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`^Usage: pedigree ${name}\\b`)),
      stderr: '',
    });
    expect(await here([name, '--version'])).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  it('is 0 for --help of the sandbox that is started by itself; quick-start.int.spec.ts starts the others', async () => {
    const { stdout } = await execute(process.execPath, [repositoryFile('dist/apps/sandbox/src/main.js'), '--help']);
    expect(stdout).toMatch(/^Usage: pedigree sandbox\b/);
  });

  it.each([
    [
      'a program without its settings, all of them named',
      2,
      ['worker'],
      {},
      /^pedigree: DATABASE_URL: must be set; REGISTRY_URL: must be set; PEDIGREE_ACCOUNTS: must be set; PEDIGREE_KEY_FILE: must be set$/,
    ],
    [
      'an argument that a program does not take',
      2,
      ['gateway', '--port'],
      {},
      /^pedigree gateway: it takes no argument --port; .*$/,
    ],
    [
      'a flag that the sandbox does not know',
      2,
      ['sandbox', '--prot', '1'],
      {},
      /^sandbox: Unknown option '--prot'; --help names the flags$/,
    ],
    [
      'a gateway that does not answer',
      1,
      ['tasks'],
      { PEDIGREE_URL: 'http://127.0.0.1:1' },
      /^pedigree: the gateway at http:\/\/127\.0\.0\.1:1 does not answer: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
    [
      'a database that is away',
      1,
      ['keys', 'list'],
      { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' },
      /^pedigree: the database does not answer: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
    [
      'a file that is not there',
      1,
      ['audit', 'verify', '/nowhere.json', '--key', verifierKeyOf(noteSigner('log', newSigningKey()))],
      {},
      /^pedigree: ENOENT: no such file or directory, open '\/nowhere\.json'$/,
    ],
  ])(
    'is that of an ordinary mistake for %s: one sentence, and no stack',
    async (_what, wanted, args, environment, words) => {
      const { status, stdout, stderr } = await here(args, environment as Record<string, string>);
      expect({ status, stdout }).toEqual({ status: wanted, stdout: '' });
      expect(stderr.trimEnd()).toMatch(words);
    },
  );

  it.each([
    [[], 'interface-v1', 0, /no call is spoilt on purpose\n$/],
    [['--profile', 'mdlp', '--knob', 'delay_ms=0.02'], 'mdlp', 0.02, /up to 2 % of the calls are spoilt on purpose/],
  ] as const)('is told by the sandbox what runs: %j', async (flags, profile, misbehave, words) => {
    const child = spawn(process.execPath, [repositoryFile('dist/apps/cli/src/main.js'), 'sandbox', ...flags], {
      env: { PATH: process.env['PATH'] },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await until('the sandbox is up', () => stdout.includes('\n') && stderr.includes('\n'));
    child.kill('SIGTERM');
    await once(child, 'close');
    const line = JSON.parse(stdout) as { url: string; controlUrl: string };
    expect(line).toMatchObject({ profile, accounts: ['main', 'north', 'south', 'retail'], misbehave });
    expect(stderr).toContain(`by profile ${profile} is at ${line.url}, its control port at ${line.controlUrl}; `);
    expect(stderr).toContain('accounts main, north, south, retail');
    expect(stderr).toMatch(words);
  });

  it('is 1 for a wrong key, and 1 for a port of the sandbox that is taken, with a sentence', async () => {
    const { port } = new URL(harness.gateway.url);
    expect(await pedigree(['sandbox', '--port', port])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^sandbox: .*EADDRINUSE.*\n$/),
    });
    const refused = await here(['tasks'], { ...toGateway(), PEDIGREE_API_KEY: 'a-key-that-nobody-has-made' });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/^pedigree: [^\n]*key[^\n]*\n$/) });
  }, 60_000);

  it.each([
    ['REGISTRY_PROFILE', 'interface-v9', /interface-v9/],
    ['REGISTRY_PROFILE_OVERRIDES', '/nowhere.json', /ENOENT/],
    ['PEDIGREE_ACCOUNTS', '/nowhere.json', /ENOENT/],
  ])('is 2 for a wrong %s, before up has started anything', async (variable, value, words) => {
    const { status, stderr } = await here(['up', '--once'], { [variable]: value });
    expect(status).toBe(2);
    expect(stderr).toMatch(new RegExp(`^pedigree: ${variable}: `, 'm'));
    expect(stderr).toMatch(words);
    expect(existsSync(join(dataDir(), 'postgres'))).toBe(false);
  });

  it('is 1 when one line of standard input is bad; the lines after it are sent, and each is named', async () => {
    const line = (id: string): string => JSON.stringify({ command_id: id, xml: arrival() });
    const { status, stdout } = await pedigree(
      ['send', '-', '--json'],
      toGateway(),
      `${line('in-1')}\n{oops\n${line('in-3')}\n`,
    );
    expect(status).toBe(1);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as unknown),
    ).toEqual([
      expect.objectContaining({ source: '-:1', command_id: 'in-1', repeated: false }),
      { source: '-:2', error: expect.stringMatching(/^invalid_json: /) },
      expect.objectContaining({ source: '-:3', command_id: 'in-3', repeated: false }),
    ]);
  });

  it('is 0 when all was sent, and again when it is known already', async () => {
    const path = join(folder.path, 'good.xml');
    writeFileSync(path, arrival());
    expect(await withGateway(['send', path])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('acknowledged'),
    });
    expect(await withGateway(['send', path])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('known already'),
    });
  });

  it.each([
    ['a document', ['document', '00000000-0000-4000-8000-000000000000']],
    ['a pack', ['history', SGTIN]],
  ])('is 1 for %s that nobody knows', async (_what, args) => {
    const { status, stdout, stderr } = await withGateway(args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^pedigree: .*(no document|not|never)/m);
  });

  it('is 1 for a pack’s number of the wrong shape', async () => {
    expect(await withGateway(['history', '0460'])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^pedigree: .*0460/m),
    });
  });
});

describe('a long-running command that npm has started', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'ends in order when npm is ended by %s, though a shell stands between',
    async (signal) => {
      // As npm does it: a shell, which waits for the command and passes no signal on.
      const line = `exec sh -c '"$NODE" "$PEDIGREE" sandbox --data "$FOLDER"; true' & wait`;
      const env = {
        PATH: process.env['PATH'],
        NODE: process.execPath,
        PEDIGREE: repositoryFile('apps/cli/bin/pedigree.mjs'),
        FOLDER: join(folder.path, `sandbox-${signal}`),
        npm_command: 'exec',
      };
      const npm = spawn('sh', ['-c', line], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      npm.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const closed = once(npm, 'close');
      await until('the sandbox is up', () => said.includes('\n'));
      const { controlUrl } = JSON.parse(said) as { controlUrl: string };
      npm.kill(signal);
      await until('it is gone', () =>
        fetch(`${controlUrl}/health`).then(
          () => false,
          () => true,
        ),
      );
      // Its end of the pipe is closed as well: no process is left of it.
      await closed;
    },
    60_000,
  );
});

describe('pedigree dead-letters', () => {
  it('lists what could not be handled, shows it and puts it back, and ends in 2 while somebody must look', async () => {
    const bus = new PostgresBus({ pool: harness.db.pool });
    await bus.publishCommands([{ messageId: 'erp-message-1', body: Buffer.from('{"command_id":') }]);
    await until('the letter', async () => (await bus.deadLetters({ limit: 1 })).length === 1);
    const [letter] = await bus.deadLetters({ limit: 1 });
    const id = letter?.id ?? '';
    await bus.close();
    expect(await withGateway(['dead-letters'])).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(/erp-message-1.*invalid_json/s),
    });
    expect(await withGateway(['dead-letters', 'show', id])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('{"command_id":\n'),
    });
    expect(await withGateway(['dead-letters', 'replay', id, '--reason', 'the ERP was mended'])).toMatchObject({
      status: 0,
      stdout: `${id} stands in the queue again\n`,
    });
    expect(await withGateway(['dead-letters', 'show', id])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`no dead letter is called ${id}`),
    });
  });

  it('discards what nobody will mend for a reason, ends in 0 then, and shows it on request', async () => {
    const bus = new PostgresBus({ pool: harness.db.pool });
    // What was put back before is as wrong as it was.
    await until('the letter', async () => (await bus.deadLetters({ limit: 1 })).length === 1);
    const id = (await bus.deadLetters({ limit: 1 }))[0]?.id ?? '';
    await bus.close();
    expect(await withGateway(['dead-letters', 'discard', id])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--reason'),
    });
    expect(await withGateway(['dead-letters', 'discard', id, '--reason', 'a test of the ERP'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${id} is discarded`),
    });
    expect(await withGateway(['dead-letters'])).toMatchObject({ status: 0, stdout: 'no dead letters\n' });
    expect(await withGateway(['dead-letters', '--discarded'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/erp-message-1.*invalid_json.*local.*a test of the ERP/s),
    });
    expect(await withGateway(['dead-letters', 'show', id])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/a test of the ERP.*\{"command_id":\n/s),
    });
    expect(await withGateway(['dead-letters', 'discard', id, '--reason', 'once more'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`no dead letter is called ${id}`),
    });
  });
});

describe('pedigree webhooks', () => {
  it('makes one and tells its secret, lists it, has it go on, and removes it', async () => {
    const made = await withGateway([
      'webhooks',
      'add',
      'https://erp.example/outcomes',
      '--description',
      'ERP',
      '--reason',
      'no bus there',
    ]);
    const [, id = ''] = /^id {6}([0-9a-f-]{36})\nsecret {2}whsec_\S+\n$/.exec(made.stdout) ?? [];
    expect({ status: made.status, id }).toEqual({ status: 0, id: expect.stringMatching(/^\S{36}$/) as unknown });
    const listed = await withGateway(['webhooks', 'list']);
    expect(listed).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('https://erp.example/outcomes') as unknown,
    });
    expect(listed.stdout).not.toContain('whsec_');
    expect(await withGateway(['webhooks', 'resume', id, '--from', 'now'])).toMatchObject({
      status: 0,
      stdout: `${id} is active; it lacks 0\n`,
    });
    expect(await withGateway(['webhooks', 'remove', id])).toMatchObject({ status: 0, stdout: `${id} is removed\n` });
    expect(await withGateway(['webhooks', 'remove', id])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(id) as unknown,
    });
  });

  it('says what is wrong with an address', async () => {
    const { status, stdout, stderr } = await withGateway(['webhooks', 'add', 'http://erp.example@10.0.0.7/']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^pedigree: \/url: must hold no user and no password/m);
  });
});
