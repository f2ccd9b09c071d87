import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallBudgets } from '#tasks';
import { verifyDetachedCms } from '../src/signing/verify-cms.js';

export const ok = (value: unknown): Behaviour => ({ status: 200, body: JSON.stringify(value) });

export interface Seen {
  method: string;
  url: string;
  authorization: string | undefined;
  headers: IncomingMessage['headers'];
  /** JSON; of anything else the bytes stand under `bytes`. */
  body: Record<string, unknown>;
}
export type Behaviour =
  | { status: number; body: string; type?: string; headers?: Record<string, string> }
  /** Reads the whole request, then breaks the connection. */
  | 'reset'
  /** Reads the whole request and never answers. */
  | 'hang'
  /** Begins an answer and never ends it. */
  | 'half'
  /** Looks at the call first. */
  | ((call: Seen) => Behaviour);

/** As much of a registry as these tests need: sign-in is real, everything else answers as it is told. */
export class FakeRegistry {
  readonly seen: Seen[] = [];
  readonly secrets: string[] = [];
  /** Answers in order, by what the path ends with; the last one stays. */
  readonly script = new Map<string, Behaviour[]>();
  goodTokens = new Set<string>();
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  calls(ending: string): Seen[] {
    return this.seen.filter((call) => call.url.split('?')[0]?.endsWith(ending));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const isJson = /json/.test(request.headers['content-type'] ?? '');
    const body =
      bytes.length === 0 ? {} : isJson ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>) : { bytes };
    const url = request.url ?? '';
    const seen = {
      method: request.method ?? '',
      url,
      authorization: request.headers.authorization,
      headers: request.headers,
      body,
    };
    this.seen.push(seen);
    const behaviour = this.behaviour(url, request, body);
    this.play(typeof behaviour === 'function' ? behaviour(seen) : behaviour, request, response);
  }

  private behaviour(url: string, request: IncomingMessage, body: Record<string, unknown>): Behaviour {
    const path = url.split('?')[0] ?? '';
    for (const [ending, behaviours] of this.script) {
      if (path.endsWith(ending)) return (behaviours.length > 1 ? behaviours.shift() : behaviours[0]) as Behaviour;
    }
    if (path.endsWith('/auth')) return this.json({ code: this.secret('code') });
    if (path.endsWith('/token')) return this.issueToken(body);
    if (!this.goodTokens.has((request.headers.authorization ?? '').replace(/^token /, '')))
      return { status: 401, body: '' };
    return { status: 404, body: '{"error_description":"nothing here"}' };
  }

  private issueToken(body: Record<string, unknown>): Behaviour {
    verifyDetachedCms(Buffer.from(String(body['code'])), Buffer.from(String(body['signature']), 'base64'));
    const token = this.secret('token');
    this.goodTokens.add(token);
    return this.json({ token, life_time: 600 });
  }

  private secret(kind: string): string {
    const secret = `${kind}-${randomBytes(16).toString('hex')}`;
    this.secrets.push(secret);
    return secret;
  }

  private json(value: unknown): Behaviour {
    return { status: 200, body: JSON.stringify(value) };
  }

  private play(behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): void {
    if (behaviour === 'hang' || typeof behaviour === 'function') return;
    if (behaviour === 'reset') return void request.socket.resetAndDestroy();
    if (behaviour === 'half') return void response.writeHead(200, { 'content-length': '100' }).write('{"document_id":');
    response
      .writeHead(behaviour.status, {
        'content-type': behaviour.type ?? 'application/json;charset=UTF-8',
        ...behaviour.headers,
      })
      .end(behaviour.body);
  }
}

/** Grants every slot at once and writes down what was asked and taught. */
export class FakeBudgets implements CallBudgets {
  readonly slots: string[] = [];
  readonly learnt: unknown[] = [];
  readonly written: string[] = [];

  answered(): void {}

  /** Calls of which nobody has said that they were written, or never will be. */
  readonly unwritten = new Set<object>();

  writing(): () => void {
    const call = {};
    this.unwritten.add(call);
    return () => void this.unwritten.delete(call);
  }

  called(account: string, method: string): void {
    this.written.push(`${account}/${method}`);
  }

  takeSlot(account: string, method: string): Promise<void> {
    this.slots.push(`${account}/${method}`);
    return Promise.resolve();
  }
  learnFrom429(account: string, method: string, told: { intervalMs?: number; retryAfterMs?: number }): Promise<void> {
    this.learnt.push({ account, method, ...told });
    return Promise.resolve();
  }
  figures(): ReturnType<CallBudgets['figures']> {
    return [];
  }
}
