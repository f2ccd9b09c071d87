import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { Pool } from 'undici';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { readWorld, type World } from '../../apps/cli/src/sample/world.js';
import { sandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { Pkcs12Signer, readAccounts, type Account } from '#registry-client';
import { arrival } from './load.js';
import { thisMachine, type BenchReport } from './report.js';

const MILLION = 1_000_000;
const RANGE = 100_000;
const CONNECTIONS = 16;
const KNOWN_DOCUMENTS = 300;
/** More sends than this a second are not prepared; the mix asks for a tenth of all calls. */
const SENDS_PER_SECOND = 500;
/** After which receipts may be asked for: the sandbox counts whoever comes sooner. */
const RECEIPT_WAIT_MS = 5_100;

/** One call: what is asked, and how long its answer was when it was tried. */
interface Call {
  name: string;
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

/**
 * Calls per second that the sandbox answers, in a process of its own, with a million touched packs: of every ten calls
 * three read a status, two a pack, one each a list page, a look-up by request_id, a send, a link to a receipt and a
 * receipt. Limits and misbehaviour are off. The ceiling is a bare node:http server that answers the same sizes to the
 * same client, in the same run.
 */
export async function sandbox({ quick }: { quick: boolean }): Promise<BenchReport> {
  const seconds = quick ? 8 : 30;
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-sandbox-'));
  const registry = await sandboxProcess({
    dataDir: folder,
    profile: 'interface-v1',
    flags: ['--limits', 'off', '--processing-ms', '200'],
  });
  try {
    const client = await Client.signIn(registry.url);
    const sent = await client.sendMany(KNOWN_DOCUMENTS);
    const sentAtMs = performance.now();
    const packs = await plantMillion(registry.controlUrl);
    const calls = await client.prepare({ documents: sent, packs, sends: seconds * SENDS_PER_SECOND });
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, RECEIPT_WAIT_MS - (performance.now() - sentAtMs))));
    const measured = await rate(client.http, { seconds, calls, headers: client.headers });
    const touched = ((await control(`${registry.controlUrl}/truth/summary`)) as { packs: { touched: number } }).packs
      .touched;
    const bare = await bareRate({
      seconds: Math.max(4, seconds / 2),
      calls,
      sizes: measured.sizes,
      headers: client.headers,
    });
    await client.http.close();
    return report({ measured, touched, bare });
  } finally {
    await registry.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  perSecond: number;
  p99Ms: number;
  /** Mean length of an answer, by the name of the call. */
  sizes: Map<string, number>;
}

function report({ measured, touched, bare }: { measured: Measured; touched: number; bare: number }): BenchReport {
  return {
    bench: 'sandbox',
    figures: {
      calls_per_second: Math.round(measured.perSecond),
      p99_ms: Math.round(measured.p99Ms * 10) / 10,
      touched_packs: touched,
    },
    ceilings: { bare_http_calls_per_second: Math.round(bare) },
    ratios: { calls_to_bare_http: Math.round((measured.perSecond / bare) * 1000) / 1000 },
    machine: thisMachine(),
  };
}

/** Packs of ours, none of which any document has named. Returns some of them. */
async function plantMillion(controlUrl: string): Promise<string[]> {
  const gtin = '04600000000015';
  for (let from = 0; from < MILLION; from += RANGE) {
    await control(`${controlUrl}/plant`, {
      ranges: [{ gtin, prefix: 'BENCH', from, count: RANGE, owner: 'own', place: '00000000100101' }],
    });
  }
  return Array.from({ length: 1000 }, (_, at) => `${gtin}BENCH${String(at * 997).padStart(8, '0')}`);
}

/** Asks the control port: a GET, or with a body a POST. */
async function control(url: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

class Client {
  private constructor(
    readonly http: Pool,
    private readonly signer: Pkcs12Signer,
    private readonly world: World,
    readonly headers: Record<string, string>,
  ) {}

  static async signIn(url: string): Promise<Client> {
    const [account] = readAccounts(fileURLToPath(sandboxFile('data/accounts.json'))) as [Account];
    const signer = Pkcs12Signer.open(account);
    const http = new Pool(url, { connections: CONNECTIONS });
    const post = async (path: string, body: unknown) =>
      JSON.parse(
        (await ask(http, { name: path, method: 'POST', path: `/api/v1${path}`, body: JSON.stringify(body) }, {})).text,
      ) as Record<string, string>;
    const { clientId, clientSecret, userId } = account;
    const { code = '' } = await post('/auth', {
      client_id: clientId,
      client_secret: clientSecret,
      user_id: userId,
      auth_type: 'SIGNED_CODE',
    });
    const { token = '' } = await post('/token', {
      code,
      signature: (await signer.sign(Buffer.from(code))).toString('base64'),
    });
    return new Client(http, signer, readWorld(sandboxFile('data/world.json')), { authorization: `token ${token}` });
  }

  async sendMany(count: number): Promise<{ documentId: string; requestId: string }[]> {
    const sent = [];
    for (let number = 0; number < count; number += 1) {
      const requestId = randomUUID();
      const { text } = await ask(this.http, await this.send(number, 'KNOWN', requestId), this.headers);
      sent.push({ documentId: (JSON.parse(text) as { document_id: string }).document_id, requestId });
    }
    return sent;
  }

  /** The mix, ready to be sent: `next` never ends, but for sends it uses up those that were signed beforehand. */
  async prepare({
    documents,
    packs,
    sends,
  }: {
    documents: { documentId: string; requestId: string }[];
    packs: string[];
    sends: number;
  }): Promise<() => Call> {
    const ready: Call[] = [];
    for (let number = 0; number < sends; number += 1) ready.push(await this.send(number, 'MIXED', randomUUID()));
    let at = 0;
    const get = (name: string, path: string): Call => ({ name, method: 'GET', path: `/api/v1${path}` });
    return () => {
      const turn = (at += 1);
      const { documentId, requestId } = documents[turn % documents.length] as (typeof documents)[number];
      switch (turn % 10) {
        case 0:
          return ready.pop() ?? get('status', `/documents/${documentId}`);
        case 1:
          return get('list', '/documents/outcome?count=10');
        case 2:
          return get('find', `/documents/request/${requestId}`);
        case 3:
          return get('ticket', `/documents/${documentId}/ticket`);
        case 4:
          return { name: 'receipt', method: 'GET', path: `/webdav/upload/${documentId}/ticket_${documentId}` };
        case 5:
        case 6:
          return get('pack', `/reestr/sgtin/${packs[turn % packs.length]}`);
        default:
          return get('status', `/documents/${documentId}`);
      }
    };
  }

  private async send(number: number, run: string, requestId: string): Promise<Call> {
    const xml = Buffer.from(arrival(this.world, number, run).xml);
    const sign = (await this.signer.sign(xml)).toString('base64');
    const body = JSON.stringify({
      document: xml.toString('base64'),
      sign,
      request_id: requestId,
      bulk_processing: false,
    });
    return { name: 'send', method: 'POST', path: '/api/v1/documents/send', body };
  }
}

async function ask(
  http: Pool,
  { name, method, path, body }: Call,
  headers: Record<string, string>,
): Promise<{ text: string }> {
  const answer = await http.request({
    method,
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${name} answered ${answer.statusCode}: ${text.slice(0, 200)}`);
  return { text };
}

/** Calls per second over so many connections, each with one call under way. */
async function rate(
  http: Pool,
  run: { seconds: number; calls: () => Call; headers: Record<string, string> },
): Promise<Measured> {
  const lengths = new Map<string, { calls: number; bytes: number }>();
  const took: number[] = [];
  const startedMs = performance.now();
  const endMs = startedMs + run.seconds * 1_000;
  const hand = async (): Promise<void> => {
    for (let fromMs = performance.now(); fromMs < endMs;) {
      const call = run.calls();
      const { text } = await ask(http, call, run.headers);
      const toMs = performance.now();
      took.push(toMs - fromMs);
      fromMs = toMs;
      const length = lengths.get(call.name) ?? { calls: 0, bytes: 0 };
      lengths.set(call.name, { calls: length.calls + 1, bytes: length.bytes + text.length });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, hand));
  const sizes = new Map([...lengths].map(([name, { calls, bytes }]) => [name, Math.round(bytes / calls)]));
  return {
    perSecond: took.length / ((performance.now() - startedMs) / 1_000),
    p99Ms: took.sort((a, b) => a - b)[Math.floor(took.length * 0.99)] ?? 0,
    sizes,
  };
}

/** The same client against a server that does nothing, on a thread of its own. */
async function bareRate(run: {
  seconds: number;
  calls: () => Call;
  sizes: Map<string, number>;
  headers: Record<string, string>;
}): Promise<number> {
  const worker = new Worker(new URL(import.meta.url));
  const url = await new Promise<string>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const http = new Pool(url, { connections: CONNECTIONS });
  try {
    const calls = (): Call => {
      const call = run.calls();
      return {
        ...call,
        path: `${call.path}${call.path.includes('?') ? '&' : '?'}bytes=${run.sizes.get(call.name) ?? 200}`,
      };
    };
    return (await rate(http, { seconds: run.seconds, calls, headers: run.headers })).perSecond;
  } finally {
    await http.close();
    await worker.terminate();
  }
}

/** Reads the body and answers with as many bytes as the query says. */
function bareServer(): Server {
  const texts = new Map<string, string>();
  return createServer((request, response) => {
    request
      .on('data', () => undefined)
      .on('end', () => {
        const bytes = /bytes=(\d+)$/.exec(request.url ?? '')?.[1] ?? '0';
        let text = texts.get(bytes);
        if (text === undefined) texts.set(bytes, (text = 'x'.repeat(Number(bytes))));
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
        response.end(text);
      });
  });
}

if (!isMainThread) {
  const server = bareServer().listen(0, '127.0.0.1', () =>
    parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
}
