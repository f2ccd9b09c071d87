import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { until } from '../../../test/support/until.js';

/** A program of the frame whose handler meets, by the path of the request, an error to which nobody listens. */
const PROGRAM = `
  import { createReadStream } from 'node:fs';
  import { runProgram } from '#service';
  const log = (fields, message) => process.stderr.write(JSON.stringify({ message, error: fields.err?.message, method: \
fields.method, path: fields.path }) + '\\n');
  const WAYS = {
    '/stream': () => createReadStream('/nowhere'),
    '/promise': (_, response) => (void Promise.reject(new Error('dropped')), setTimeout(() => response.end('answered \
all the same'), 50)),
    '/timer': () => setTimeout(() => { throw new Error('timer'); }, 1),
    '/begun': (_, response) => (response.write('half'), setTimeout(() => { throw new Error('begun'); }, 1)),
    '/body': (request) => request.once('data', () => { throw new Error('body'); }),
    '/end': (request) => request.resume().once('end', () => { throw new Error('end'); }),
    '/after': (_, response) => (response.once('close', () => { throw new Error('after'); }), response.end('answered')),
    '/handler': () => { throw new Error('handler'); },
  };
  process.once('SIGUSR2', () => { throw new Error('outside of requests'); });
  process.exitCode = await runProgram(() => ({
    name: 'worker', log: { info: () => undefined, warn: log, error: log }, health: { port: 0, host: '127.0.0.1' }, \
dependencies: [],
    start: async ({ healthPort }) => (healthPort.serve((request, response) => WAYS[request.url.split('?')[0]](request, \
response)), { stop: async () => undefined }),
  }));
`;

interface Said {
  message: string;
  error: string;
  method?: string;
  path?: string;
}

let child: ChildProcess;
let url = '';
let errors = '';
const said = (): Said[] =>
  errors
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Said);

beforeAll(buildPrograms);
beforeEach(async () => {
  let out = '';
  errors = '';
  child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    cwd: repositoryFile(''),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await until('the program says where it is', () => out.includes('\n') || child.exitCode !== null);
  url = (JSON.parse(out) as { healthUrl: string }).healthUrl;
});
afterEach(() => void child.kill('SIGKILL'));

async function end(signal: NodeJS.Signals): Promise<number | null> {
  const closed = once(child, 'close');
  child.kill(signal);
  await until('the process has ended', () => child.exitCode !== null);
  await closed;
  return child.exitCode;
}

const ask = (path: string): Promise<string> =>
  fetch(`${url}${path}?token=secret`, { method: 'POST', body: 'x' })
    .then(async (answer) => `${answer.status} ${(await answer.text()).slice(0, 21)}`)
    .catch(() => 'cut');

describe('an error that nobody caught', () => {
  it('of a request gives up that request, is said, and ends nothing', async () => {
    const fault = '500 {"type":"urn:pedigree';
    const answers = {
      '/stream': fault,
      '/promise': '200 answered all the same',
      '/timer': fault,
      '/begun': 'cut',
      '/body': fault,
      '/end': fault,
      '/after': '200 answered',
      '/handler': fault,
    };
    for (const [path, answer] of Object.entries(answers)) {
      expect([path, await ask(path)]).toEqual([path, answer]);
      await until(`${path} is said`, () => said().some((one) => one.path === path));
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
    }
    expect(said().map(({ method, error }) => [method, error])).toEqual(
      [
        "ENOENT: no such file or directory, open '/nowhere'",
        'dropped',
        'timer',
        'begun',
        'body',
        'end',
        'after',
        'handler',
      ].map((error) => ['POST', error]),
    );
    expect(errors).not.toContain('secret');
    expect(await end('SIGTERM')).toBe(0);
  });

  it('of anything else ends the process as ever: the stack, and status 1', async () => {
    expect(await ask('/timer')).toContain('500');
    expect(await end('SIGUSR2')).toBe(1);
    expect(errors).toMatch(/Error: outside of requests\n +at /);
  });
});
