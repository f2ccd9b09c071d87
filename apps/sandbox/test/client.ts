import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startSandbox, type Sandbox, type SandboxOptions } from '../src/main.js';
import { signAs } from './signer.js';

export interface HttpAnswer {
  status: number;
  text: string;
  headers: Headers;
  // Answers are read field by field; a wrong shape fails the test that reads it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read answers of many shapes
  json: any;
}

const accounts = JSON.parse(readFileSync(new URL('../data/accounts.json', import.meta.url), 'utf8')) as {
  name: string;
  client_id: string;
  client_secret: string;
  user_id: string;
}[];

/** A client of the sandbox for its own tests: plain HTTP, nothing of the product's client. */
export class TestClient {
  private readonly tokens = new Map<string, string>();

  constructor(readonly sandbox: Sandbox) {}

  static async start(options: SandboxOptions = {}): Promise<TestClient> {
    return new TestClient(await startSandbox({ limits: false, language: 'en', ...options }));
  }

  stop(): Promise<void> {
    return this.sandbox.stop();
  }

  async http(url: string, init: RequestInit = {}): Promise<HttpAnswer> {
    const response = await fetch(url, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, text, headers: response.headers, json: isJson ? JSON.parse(text) : undefined };
  }

  control(method: string, path: string, body?: unknown): Promise<HttpAnswer> {
    return this.http(`${this.sandbox.controlUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  credentials(account = 'main') {
    const { client_id, client_secret, user_id } = accounts.find(
      (one) => one.name === account,
    ) as (typeof accounts)[number];
    return { client_id, client_secret, user_id, auth_type: 'SIGNED_CODE' };
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<HttpAnswer> {
    return this.http(`${this.sandbox.url}/api/v1${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers,
    });
  }

  async newToken(account = 'main'): Promise<HttpAnswer> {
    const { json } = await this.post('/auth', this.credentials(account));
    return this.post('/token', { code: json.code, signature: signAs(account, Buffer.from(json.code)) });
  }

  async token(account = 'main'): Promise<string> {
    const known = this.tokens.get(account);
    if (known !== undefined) return known;
    const answer = await this.newToken(account);
    if (answer.status !== 200) throw new Error(answer.text);
    this.tokens.set(account, answer.json.token);
    return answer.json.token;
  }

  async headers(account = 'main'): Promise<Record<string, string>> {
    return { authorization: `token ${await this.token(account)}` };
  }

  async get(path: string, account = 'main'): Promise<HttpAnswer> {
    const url = path.startsWith('http') ? path : `${this.sandbox.url}/api/v1${path}`;
    return this.http(url, { headers: await this.headers(account) });
  }

  async send(
    xml: string | Buffer,
    options: { account?: string; requestId?: string; fields?: Record<string, unknown> } = {},
  ): Promise<HttpAnswer> {
    const { account = 'main', requestId = randomUUID(), fields = {} } = options;
    const bytes = Buffer.from(xml);
    const body = { document: bytes.toString('base64'), sign: signAs(account, bytes), request_id: requestId, ...fields };
    return this.post('/documents/send', body, await this.headers(account));
  }

  advance(advanceMs = 5000): Promise<HttpAnswer> {
    return this.control('POST', '/clock', { advanceMs });
  }

  /** A time after which no token lives: signs in anew when one is needed. */
  async advanceDays(days: number, milliseconds = 0): Promise<void> {
    await this.advance(days * 86_400_000 + milliseconds);
    this.tokens.clear();
  }

  /** Sends, lets the virtual time pass, and reads what became of it. */
  async process(xml: string | Buffer, account = 'main'): Promise<Outcome> {
    const sent = await this.send(xml, { account });
    if (sent.status !== 200) throw new Error(sent.text);
    await this.advance();
    return this.outcome(sent.json.document_id, account);
  }

  async outcome(documentId: string, account = 'main'): Promise<Outcome> {
    const metadata = await this.get(`/documents/${documentId}`, account);
    const ticket = await this.get(`/documents/${documentId}/ticket`, account);
    const receipt = ticket.status === 200 ? (await this.get(ticket.json.link, account)).text : undefined;
    return { documentId, metadata: metadata.json, receipt, ...readReceipt(receipt?.replaceAll('>\r\n<', '><')) };
  }

  /** What the control port knows of a pack. */
  async pack(sgtin: string): Promise<Record<string, unknown>> {
    return (await this.control('GET', `/truth/packs/${sgtin}`)).json;
  }
}

export interface Outcome {
  documentId: string;
  metadata: Record<string, unknown>;
  receipt: string | undefined;
  result: string | undefined;
  /** `code object` of each error. */
  errors: string[];
}

function readReceipt(receipt: string | undefined): { result: string | undefined; errors: string[] } {
  const errors = [
    ...(receipt ?? '').matchAll(
      /<errors><error_code>(.*?)<\/error_code><error_desc>.*?<\/error_desc>(?:<object_id>(.*?)<\/object_id>)?<\/errors>/gs,
    ),
  ];
  return {
    result: /<operation_result>(.*?)<\/operation_result>/.exec(receipt ?? '')?.[1],
    errors: errors.map(([, code, object]) => (object === undefined ? `${code}` : `${code} ${object}`)),
  };
}
