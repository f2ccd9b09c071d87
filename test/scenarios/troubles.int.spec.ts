// Left to the soak: programs whose database and registry go away. `npm test` has the parts that wait for them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { PostgresBus } from '#bus';
import { newSigningKey } from '#merkle';
import { arrival } from '../bench/load.js';
import { firing } from '../support/alert-rules.js';
import { commandHere } from '../support/command-here.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { pkcs12Of, selfSigned } from '../support/self-signed.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { buildPrograms } from './built-programs.js';

/**
 * What an operator is told of four troubles, by each way that tells: the gateway's health, the metrics with the alert
 * rules over them, and the command line. The programs are processes of their own; the registry answers every call with
 * 503, for none of this needs more.
 */
const DAY_MS = 86_400_000;
const PASSWORD = 'a password for the test';
const PROJECTION = 'projection:document-outcomes';
const PROGRAMS = ['gateway', 'worker', 'auditor', 'reconciler'] as const;
type Name = (typeof PROGRAMS)[number];

interface Started {
  child: ChildProcess;
  url: string;
  healthUrl: string;
}

let folder: TemporaryFolder;
let db: TestDatabase;
let bus: PostgresBus;
let registry: Server;
let programs: Record<Name, Started>;
let environment: NodeJS.ProcessEnv;

/** An account whose certificate ends then. */
function account(name: string, validTo: Date): object {
  const file = join(folder.path, `${name}.p12`);
  writeFileSync(file, pkcs12Of(selfSigned({ validTo }), PASSWORD), { mode: 0o600 });
  return {
    name,
    client_id: 'c-1',
    client_secret: 's-1',
    user_id: `user-of-${name}`,
    signer: { kind: 'pkcs12', file, password: PASSWORD },
  };
}

async function start(name: Name): Promise<Started> {
  const child = spawn(process.execPath, [fileURLToPath(builtFile(`apps/${name}/src/main.js`))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environment,
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { url: string; healthUrl: string }) };
}

async function kill(name: Name): Promise<void> {
  const ended = once(programs[name].child, 'exit');
  programs[name].child.kill('SIGKILL');
  await ended;
}

/** What the health of the gateway names, with the reasons. */
async function troubles(): Promise<Map<string, string>> {
  const answer = await fetch(`${programs.gateway.url}/health/ready`);
  const { degraded = [] } = (await answer.json()) as { degraded?: { name: string; reason: string }[] };
  expect(answer.status).toBe(200);
  return new Map(degraded.map(({ name, reason }) => [name, reason]));
}
const told = (name: string) => until(`health tells of ${name}`, async () => (await troubles()).has(name));

const metricsOf = async ({ healthUrl }: Started): Promise<string> => (await fetch(`${healthUrl}/metrics`)).text();
/** Waits until the rule fires over the metrics of these programs. */
const fired = (alert: string, of = [programs.gateway, programs.worker]) =>
  until(`the alert ${alert}`, async () => firing(await Promise.all(of.map(metricsOf))).includes(alert));

/** From now on nothing can be written into the list of documents, and there is something to write. */
async function poisonProjection(): Promise<void> {
  await db.pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned for the ` +
      `test'; END $$`,
  );
  await db.pool.query('CREATE TRIGGER refuse BEFORE INSERT ON document_outcome EXECUTE FUNCTION refuse()');
  const command = {
    command_id: 'erp-2',
    account: 'ended',
    xml: arrival(readWorld(sandboxFile('data/world.json')), 1, 'TROUB').xml,
  };
  const answer = await fetch(`${programs.gateway.url}/v1/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(command),
  });
  expect(answer.status).toBe(202);
}

const pedigree = (...args: string[]) => commandHere(args, { PEDIGREE_URL: programs.gateway.url });

beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  db = await testDatabase();
  registry = createServer((_, response) => response.writeHead(503).end()).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32), { mode: 0o600 });
  writeFileSync(join(folder.path, 'audit-key'), newSigningKey(), { mode: 0o600 });
  writeFileSync(
    join(folder.path, 'accounts.json'),
    JSON.stringify([
      account('ending', new Date(Date.now() + 10.5 * DAY_MS)),
      account('ended', new Date(Date.now() - DAY_MS)),
    ]),
    { mode: 0o600 },
  );
  environment = {
    PATH: process.env['PATH'],
    DATABASE_URL: db.url,
    PORT: '0',
    LOG_LEVEL: 'silent',
    REGISTRY_URL: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    PEDIGREE_ACCOUNTS: join(folder.path, 'accounts.json'),
    PEDIGREE_KEY_FILE: join(folder.path, 'key'),
    AUDIT_KEY_FILE: join(folder.path, 'audit-key'),
  };
  programs = Object.fromEntries(await Promise.all(PROGRAMS.map(async (name) => [name, await start(name)]))) as Record<
    Name,
    Started
  >;
  bus = new PostgresBus({ pool: db.pool });
  for (const { healthUrl } of Object.values(programs))
    await until('each runs', async () => (await fetch(`${healthUrl}/health/ready`)).ok);
  await told('account ended');
}, 400_000);

afterAll(async () => {
  await bus?.close();
  for (const { child } of Object.values(programs ?? {})) child.kill('SIGKILL');
  registry?.closeAllConnections();
  await new Promise((closed) => (registry === undefined ? closed(undefined) : registry.close(closed)));
  await db?.drop();
  await folder?.remove();
});

describe('what an operator is told', () => {
  it('of all that runs and rests: nothing', async () => {
    let stdout = '';
    await until('all programs are there, and the auditor is behind nothing', async () => {
      const tasks = await pedigree('tasks');
      stdout = tasks.stdout;
      const areThere = PROGRAMS.every((name) => new RegExp(`^${name} +running`, 'm').test(stdout));
      return areThere && tasks.status === 0 && /^auditor +running( +\d{4}-\S+)?$/m.test(stdout);
    });
    for (const name of PROGRAMS) expect(stdout).toMatch(new RegExp(`^${name} +running`, 'm'));
    expect(stdout).not.toMatch(/NOBODY|NOT RUNNING|HALTED/);
    expect([...(await troubles()).keys()].sort()).toEqual(['account ended', 'certificate of ending']);
    // It takes eight tries before it counts as halted; the tests between do not wait for it.
    await poisonProjection();
  }, 60_000);

  it('of a certificate that ends, and of one that has ended', async () => {
    const found = await troubles();
    expect(found.get('certificate of ending')).toMatch(
      /^it ends at .*, in 10 days; the account is paused then: order a new one$/,
    );
    expect(found.get('account ended')).toMatch(/^paused \(certificate\): /);
    for (const alert of ['CertificateEndsSoon ending', 'CertificateEndsSoon ended', 'AccountPaused ended certificate'])
      await fired(alert);
    const { status, stdout } = await pedigree('accounts');
    expect(status).toBe(2);
    expect(stdout).toMatch(/^ending +active .*its certificate ends in 10 days$/m);
    expect(stdout).toMatch(/^ended +paused +certificate/m);
  }, 60_000);

  it('of commands in the queue that are refused, and of a message that is none', async () => {
    const command = { command_id: 'erp-1', account: 'nobody', xml: '<documents/>' };
    await bus.publishCommands([
      { messageId: 'refused', body: Buffer.from(JSON.stringify(command)) },
      { messageId: 'poisoned', body: Buffer.from('\u0000 no JSON') },
    ]);
    await told('dead letters');
    await until(
      'both are counted',
      async () =>
        (await troubles()).get('dead letters') ===
        '2 messages of the bus could not be handled; pedigree dead-letters tells which and why',
    );
    await fired('DeadLetters');
    const { status, stdout } = await pedigree('dead-letters');
    expect(status).toBe(2);
    expect(stdout).toMatch(/refused .*nobody/);
    expect(stdout).toMatch(/poisoned .*invalid_json/);
  }, 60_000);

  it('of an event that a projection cannot work on', async () => {
    await told(`subscription ${PROJECTION}`);
    expect((await troubles()).get(`subscription ${PROJECTION}`)).toMatch(
      /^it is halted: \S+:\d+ failed \d+ times in a row, last at position \d+: .*poisoned for the test$/,
    );
    await fired(`SubscriptionHalted ${PROJECTION}`);
    expect(await pedigree('tasks')).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(new RegExp(`^${PROJECTION} +HALTED .*poisoned for the test$`, 'm')),
    });
    await db.pool.query('DROP TRIGGER refuse ON document_outcome');
  }, 120_000);

  it('of a dead auditor, reconciler and worker, until another runs', async () => {
    const mortal = ['auditor', 'reconciler', 'worker'] as const;
    await Promise.all(mortal.map(kill));
    // Half a minute passes: a process that lives would have said so again by the next look.
    await db.pool.query(
      `UPDATE program_process SET seen_at = seen_at - interval '30 seconds' WHERE program <> 'gateway'`,
    );
    for (const name of mortal) await told(`program ${name}`);
    const found = await troubles();
    for (const name of mortal)
      expect(found.get(`program ${name}`)).toMatch(
        new RegExp(
          `^no ${name} runs, so .*: \\S+:${programs[name].child.pid} was last seen at .*; start one: pedigree ${name}$`,
        ),
      );
    for (const name of mortal) await fired(`ProgramMissing ${name}`, [programs.gateway]);
    const { status, stdout } = await pedigree('tasks');
    expect(status).toBe(2);
    for (const name of mortal) expect(stdout).toMatch(new RegExp(`^${name} +NOT RUNNING`, 'm'));
    await Promise.all(mortal.map(async (name) => (programs[name] = await start(name))));
    await until('they are there again, and the projection goes on', async () =>
      [...(await troubles()).keys()].every((name) => !name.startsWith('program ') && !name.startsWith('subscription ')),
    );
  }, 120_000);
});
