import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { sandboxProcess, type SandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { METRICS } from '#telemetry';
import { arrival } from '../bench/load.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { selfSigned } from '../support/self-signed.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { buildPrograms } from './built-programs.js';

const DOCUMENTS = 3;
const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string }[];
}
interface Started {
  child: ChildProcess;
  url: string | undefined;
  healthUrl: string;
}

let folder: TemporaryFolder;
let db: TestDatabase;
let sandbox: SandboxProcess;
let gateway: Started;
let worker: Started;
let receiver: Server;
/** The registry over TLS. */
let registry: TlsServer;
const spans: Span[] = [];
const said: string[] = [];
const requestIds: string[] = [];
/** What a log must never hold: the registry's secrets, the token key, and any document. */
const SECRETS = ['ab'.repeat(32), '<documents', 'Bearer '];

async function start(name: 'gateway' | 'worker', env: NodeJS.ProcessEnv): Promise<Started> {
  const child = spawn(process.execPath, [fileURLToPath(builtFile(`apps/${name}/src/main.js`))], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes.toString('utf8')));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    child,
    ...(JSON.parse(line) as { url?: string; healthUrl: string }),
    url: (JSON.parse(line) as { url?: string }).url,
  };
}

/** Its last words are read then, too. */
async function stop({ child }: Started): Promise<unknown> {
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  return (await ended)[0];
}

const metricsOf = async ({ healthUrl }: Started): Promise<string> => (await fetch(`${healthUrl}/metrics`)).text();
/** The value of a metric, summed over the labels that are not named. */
function value(text: string, name: string, labels: Record<string, string> = {}): number {
  const lines = text
    .split('\n')
    .filter(
      (line) =>
        (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) &&
        Object.entries(labels).every(([label, wanted]) => line.includes(`${label}="${wanted}"`)),
    );
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function keepSpans(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
    };
    spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));
    response.end('{}');
  });
}

/** Gives a command under the caller's trace. Returns the request_id. */
async function sendTraced(n: number): Promise<string> {
  const world = readWorld(sandboxFile('data/world.json'));
  const answer = await fetch(`${gateway.url}/v1/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
    body: JSON.stringify({ command_id: `watched-${n}`, xml: arrival(world, n, 'WATCH').xml }),
  });
  return ((await answer.json()) as { request_id: string }).request_id;
}

/** The same over TLS, by a certificate that whoever reads `authority.pem` trusts. */
async function overTls(port: number): Promise<TlsServer> {
  const { certificate: cert, key } = selfSigned();
  writeFileSync(join(folder.path, 'authority.pem'), cert);
  const server = createTlsServer({ cert, key }, (socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const one of [socket, inner]) one.on('error', () => (socket.destroy(), inner.destroy()));
    socket.pipe(inner).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  db = await testDatabase();
  receiver = createServer(keepSpans).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  sandbox = await sandboxProcess({
    dataDir: join(folder.path, 'sandbox'),
    profile: 'interface-v1',
    flags: ['--processing-ms', '100'],
  });
  registry = await overTls(Number(new URL(sandbox.url).port));
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32));
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: db.url,
    PORT: '0',
    LOG_LEVEL: 'debug',
    REGISTRY_URL: `https://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    NODE_EXTRA_CA_CERTS: join(folder.path, 'authority.pem'),
    PEDIGREE_KEY_FILE: join(folder.path, 'key'),
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
  };
  [gateway, worker] = await Promise.all([start('gateway', env), start('worker', env)]);
  await until('the gateway is ready', async () => (await fetch(`${gateway.healthUrl}/health/ready`)).ok);
  for (let n = 0; n < DOCUMENTS; n += 1) requestIds.push(await sendTraced(n));
  await until(
    'the documents are concluded',
    async () => value(await metricsOf(gateway), 'pedigree_documents', { phase: 'concluded' }) === DOCUMENTS,
    180_000,
  );
  // A task counts as done when it is off the queue: a moment after what it did stands in the log.
  await until(
    'the last task is counted',
    async () =>
      value(await metricsOf(worker), 'pedigree_tasks_done_total', { kind: 'receipt', result: 'done' }) === DOCUMENTS,
  );
}, 400_000);

afterAll(async () => {
  for (const one of [gateway, worker]) if (one !== undefined && one.child.exitCode === null) await stop(one);
  await new Promise((closed) => (registry === undefined ? closed(undefined) : registry.close(closed)));
  await sandbox?.stop();
  receiver?.closeAllConnections();
  await new Promise((closed) => (receiver === undefined ? closed(undefined) : receiver.close(closed)));
  await db?.drop();
  await folder?.remove();
});

describe('the programs, watched', () => {
  it('tell by metrics what came in, what became of it, and what it cost at the registry', async () => {
    const [atGateway, atWorker] = await Promise.all([metricsOf(gateway), metricsOf(worker)]);
    expect(value(atGateway, 'pedigree_commands_total', { source: 'http', result: 'acknowledged' })).toBe(DOCUMENTS);
    expect(value(atGateway, 'pedigree_command_seconds_count', { source: 'http' })).toBe(DOCUMENTS);
    expect(value(atGateway, 'pedigree_need_up', { need: 'postgresql' })).toBe(1);
    expect(value(atGateway, 'pedigree_dead_letters')).toBe(0);
    expect(value(atWorker, 'pedigree_need_up', { need: 'registry' })).toBe(1);
    expect(atGateway).toMatch(/pedigree_subscription_lag_events\{subscription="saga:document"/);
    expect(value(atWorker, 'pedigree_registry_calls_total', { method: 'send', result: 'ok' })).toBe(DOCUMENTS);
    expect(value(atWorker, 'pedigree_registry_calls_per_document')).toBeGreaterThanOrEqual(2);
    expect(value(atWorker, 'pedigree_registry_rate_limited_total')).toBe(0);
    expect(value(atWorker, 'pedigree_tasks_done_total', { kind: 'receipt', result: 'done' })).toBe(DOCUMENTS);
    expect(value(atWorker, 'pedigree_certificate_expires_seconds')).toBeGreaterThan(0);
    const told = [
      ...new Set([...`${atGateway}\n${atWorker}`.matchAll(/^# TYPE (pedigree_\w+)/gm)].map(([, name = '']) => name)),
    ];
    expect(told.filter((name) => !(name in METRICS))).toEqual([]);
  });

  it(
    'tell of each document one trace from the ERP to the receipt, linked to the caller’s own, when they have ended ' +
      'in order',
    async () => {
      expect(await Promise.all([stop(gateway), stop(worker)])).toEqual([0, 0]);
      for (const requestId of requestIds) {
        const trace = spans.filter((span) => span.traceId === requestId.replaceAll('-', ''));
        const root = trace.find((span) => span.name === 'document');
        expect(trace.map((span) => span.name)).toEqual(
          expect.arrayContaining(['intake', 'run_command', 'send', 'status', 'receipt', 'document']),
        );
        expect(trace.filter((span) => span !== root && span.parentSpanId !== root?.spanId)).toEqual([]);
        expect(trace.find((span) => span.name === 'intake')?.links).toEqual([
          expect.objectContaining({ traceId: CALLER.traceId }),
        ]);
      }
    },
  );

  it('log lines of JSON, without a secret and without a document', () => {
    const text = said.join('');
    expect(
      text
        .trim()
        .split('\n')
        .every((line) => typeof (JSON.parse(line) as { msg?: unknown }).msg === 'string'),
    ).toBe(true);
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
  });
});
