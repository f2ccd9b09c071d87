import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { RabbitMqBus } from '#bus';
import { quietPort } from '../chaos/services/ports.js';
import { blocksOf, isShell } from '../soak/page.js';
import { deleteTopology, ownPrefix, testBroker, type TestBroker } from '../support/rabbitmq.js';
import { until } from '../support/until.js';
import { repositoryFile } from './built-programs.js';
import { startStack, type Stack } from './stack.js';

/**
 * Blocks that docs/erp-integration.md marks as run, in their order: shell commands, and scripts by their file names.
 */
const page = readFileSync(repositoryFile('docs/erp-integration.md'), 'utf8');
const blocks = blocksOf('docs/erp-integration.md', page).filter((one) => one.mark === 'run');
const commands = blocks.filter((one) => one.text.startsWith('curl')).map((one) => one.text);
const scripts = new Map(blocks.flatMap((one) => (one.file === undefined ? [] : [[one.file, one.text] as const])));
/** What sets the variables that this test sets, and starts the scripts that it starts. */
const others = blocks.filter(
  (one) => isShell(one) && /^(export|node|WEBHOOK_SECRET=\S+ RECEIVER_PORT=\d+ node) /.test(one.text),
);

/** Longest time from a command to its outcome: 3 s and 5 s are the registry's, the rest is for a busy machine. */
const LIMIT_MS = 180_000;

let stack: Stack;
let broker: TestBroker | undefined;
const prefix = ownPrefix();
const children: ChildProcess[] = [];
const busVariables = (): Record<string, string> =>
  broker === undefined ? {} : { AMQP_URL: broker.url, AMQP_PREFIX: prefix };

beforeAll(async () => {
  broker = await testBroker();
  stack = await startStack({ sandbox: { seed: 7 }, env: { LOG_LEVEL: 'error', ...busVariables() } });
  symlinkSync(repositoryFile('node_modules'), join(stack.folder, 'node_modules'));
  for (const [name, text] of scripts) writeFileSync(join(stack.folder, name), text);
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const child of children) if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  await stack?.stop();
  if (broker !== undefined) await forgetQueues(broker);
  await broker?.stop();
});

async function forgetQueues({ url }: TestBroker): Promise<void> {
  const connection = new Connection(url);
  await connection.queueDelete({ queue: `erp.${prefix}.outcomes` });
  await connection.close();
  await deleteTopology(url, prefix);
}

interface Running {
  output(): string;
  ended: Promise<number | null>;
}

/** Runs a block as a reader would, with the variables that the page names. */
function run(program: string, args: string[], environment: Record<string, string> = {}): Running {
  const env = { PATH: process.env['PATH'], PEDIGREE_URL: stack.gateway.url, ...busVariables(), ...environment };
  const child = spawn(program, args, { cwd: stack.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  return { output: () => output, ended: once(child, 'close').then(([status]) => status as number | null) };
}
const script = (name: string, environment: Record<string, string> = {}): Running =>
  run(process.execPath, [name], environment);

async function command(text: string, environment: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const shell = run('/bin/sh', ['-c', text], environment);
  expect({ status: await shell.ended, output: shell.output() }).toMatchObject({ status: 0 });
  return JSON.parse(shell.output()) as Record<string, unknown>;
}

/** What the bus refuses is told by every way, under one id. */
async function refusedByEveryWay({ url }: TestBroker, ways: Running[]): Promise<void> {
  const erp = new RabbitMqBus({ url, prefix });
  await erp.publishCommands([
    {
      messageId: 'amqp-2',
      body: Buffer.from(JSON.stringify({ command_id: 'amqp-2', reference: 'Invoice 19', xml: '<a/>', prio: 1 })),
    },
  ]);
  await erp.close();
  const refused =
    /^([0-9a-f-]{36}) pedigree\.command\.refused\.v1 Invoice 19 undefined Refused: \/prio: is not a field of a command; .*$/gm;
  const ids = () => ways.map((way) => [...way.output().matchAll(refused)].map((match) => match[1]));
  await until('the refusal by every way', () => ids().every((one) => one.length > 0), LIMIT_MS);
  expect(new Set(ids().flat()).size).toBe(1);
}

const told = (reference: string) =>
  new RegExp(
    `^[0-9a-f-]{36} pedigree\\.document\\.concluded\\.v1 ${reference} accepted Accepted by the registry: its one ` +
      'item\\.$',
    'm',
  );

describe('the page for programmers of an ERP', () => {
  it('has an example for every way, and nothing that is marked run is left out here', () => {
    expect(commands).toHaveLength(3);
    expect([...scripts.keys()]).toEqual(['feed.mjs', 'receiver.mjs', 'rabbitmq.mjs']);
    expect(blocks).toHaveLength(commands.length + scripts.size + others.length);
  });

  it(
    'works as it stands, all ways at once: command, feed, webhook and bus',
    async () => {
      const port = String(await quietPort());
      const [sendCommand, validate, makeWebhook] = commands as [string, string, string];
      expect(await command(validate)).toMatchObject({
        valid: false,
        problems: [{ path: '/documents/accept/operation_date' }, { path: '/documents/accept/order_details/sgtin' }],
      });
      const { secret } = await command(makeWebhook, { RECEIVER_URL: `http://127.0.0.1:${port}/` });
      const receiver = script('receiver.mjs', { WEBHOOK_SECRET: String(secret), RECEIVER_PORT: port });
      const bus = broker === undefined ? undefined : script('rabbitmq.mjs');
      const feed = script('feed.mjs');
      expect(await command(sendCommand)).toMatchObject({ command_id: 'http-1', repeated: false });
      expect(await command(sendCommand)).toMatchObject({ command_id: 'http-1', repeated: true });
      const references = bus === undefined ? ['Invoice 17'] : ['Invoice 17', 'Invoice 18'];
      const ways = [feed, receiver, ...(bus === undefined ? [] : [bus])];
      const missing = () =>
        ways.flatMap((way, n) =>
          references
            .filter((reference) => !told(reference).test(way.output()))
            .map((reference) => `${reference} by way ${n}: ${way.output()}`),
        );
      await until('every outcome by every way', () => missing().length === 0, LIMIT_MS).catch((error: Error) => {
        throw new Error(`${error.message}\n${missing().join('\n')}`);
      });
      if (broker !== undefined) await refusedByEveryWay(broker, ways);
      const cursor = join(stack.folder, 'cursor');
      await until(
        'the place in the feed is kept',
        () => existsSync(cursor) && /^\d{20}$/.test(readFileSync(cursor, 'utf8')),
      );
    },
    LIMIT_MS + 30_000,
  );
});
