import { connect } from 'node:net';
import { spreadOf } from '../src/seeded.js';

/** A stream of choices that follows from a seed. */
export class Dice {
  private index = 0;

  constructor(private readonly seed: number) {}

  /** From 0 to below `below`. */
  number(below: number): number {
    return Math.floor(spreadOf(this.seed, (this.index += 1)) * below);
  }

  of<T>(values: readonly T[]): T {
    return values[this.number(values.length)] as T;
  }

  chance(percent: number): boolean {
    return this.number(100) < percent;
  }

  text(length: number): string {
    const alphabet = 'abcXYZ019 -_./\\"\'<>&%{}[]:;?=\u0000\n\tдж€\u{1f4a5}';
    return Array.from({ length }, () => this.of([...alphabet])).join('');
  }
}

/** What requests are made of: real routes, tokens, ids and bodies, so that mutation gets past the front door. */
export interface Material {
  routes: { verb: string; path: string }[];
  tokens: string[];
  ids: string[];
  /** Bodies that are taken as they stand. */
  bodies: string[];
}

/** One request, as bytes; `cut`: the connection is given up before all of them are sent. */
export interface FuzzRequest {
  bytes: Buffer;
  cut: boolean;
}

const VERBS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'BREW', 'get', ''];
const TYPES = [
  'application/json',
  'application/xml',
  'text/html',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  '',
];

const ODD_PROTOCOLS = ['HTTP/1.0', 'HTTP/9.9', 'FTP/1.1', ''];
const ODD_SEGMENTS = ['a', '..', '%00', '%ff', '%', '~', 'webdav'];
const PARAMETERS = [
  ...['count', 'start_from', 'filter', 'document_ids', 'sgtin'],
  ...['page', 'size', 'token', '__proto__'],
];

/** A request that may be anything from nearly right to noise. */
export function fuzzRequest(dice: Dice, material: Material): FuzzRequest {
  if (dice.chance(3)) return { bytes: Buffer.from(dice.text(1 + dice.number(2000))), cut: dice.chance(50) };
  const route = dice.of(material.routes);
  const verb = dice.chance(90) ? route.verb : dice.of(VERBS);
  const body = bodyOf(dice, material);
  const target = targetOf(dice, route.path, material);
  const lines = [`${verb} ${target} ${dice.chance(98) ? 'HTTP/1.1' : dice.of(ODD_PROTOCOLS)}`];
  if (dice.chance(98)) lines.push('host: sandbox');
  lines.push(...headersOf(dice, material));
  if (dice.chance(4)) lines.push('transfer-encoding: chunked');
  else if (dice.chance(97))
    lines.push(
      'content-length: ' +
        `${dice.chance(96) ? body.length : dice.of(['-1', '1e9', 'x', '99999999999', String(body.length + 5)])}`,
    );
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`), body]);
  return dice.chance(4) ? { bytes: bytes.subarray(0, dice.number(bytes.length)), cut: true } : { bytes, cut: false };
}

function targetOf(dice: Dice, path: string, { ids, tokens }: Material): string {
  let target = path.replace(/\{\w+\}/g, () =>
    dice.chance(80) ? dice.of(ids) : encodeURIComponent(dice.text(1 + dice.number(40))),
  );
  if (dice.chance(5))
    target = Array.from({ length: dice.number(60) }, () => `/${dice.of(ODD_SEGMENTS)}`).join('') || '/';
  if (dice.chance(2)) target += '/'.repeat(1 + dice.number(4000));
  if (dice.chance(15)) {
    const name = dice.of(PARAMETERS);
    const value = dice.of([dice.text(20), '-1', '1e99', dice.of(tokens), '{"a":', '[]', '{"__proto__":{}}']);
    target += `?${name}=${encodeURIComponent(value)}`;
  }
  return dice.chance(2) ? `http://other.example${target}` : target;
}

function headersOf(dice: Dice, { tokens }: Material): string[] {
  const lines = [`content-type: ${dice.of(TYPES)}`];
  if (dice.chance(92))
    lines.push(
      'authorization: ' +
        (dice.chance(95)
          ? `token ${dice.of(tokens)}`
          : dice.of(['token', 'token  ', 'Bearer x', `token ${'x'.repeat(9000)}`])),
    );
  if (dice.chance(3)) lines.push(`x-giant: ${'g'.repeat(dice.number(120_000))}`);
  if (dice.chance(3)) lines.push(...Array.from({ length: dice.number(2500) }, (_, at) => `x-${at}: 1`));
  if (dice.chance(5))
    lines.push(
      `content-range: ${dice.of(['bytes 0-9/10', 'bytes 5-1/3', 'bytes */9', 'bytes 0-99999999999/99999999999', 'x'])}`,
    );
  if (dice.chance(3))
    lines.push(
      dice.of([
        'expect: 100-continue',
        'upgrade: websocket',
        'content-encoding: gzip',
        ': empty',
        'a b: c',
        `x: ${String.fromCharCode(1)}`,
      ]),
    );
  return lines;
}

function bodyOf(dice: Dice, { bodies }: Material): Buffer {
  const kind = dice.number(100);
  if (kind < 10) return Buffer.alloc(0);
  if (kind < 50) return mutated(dice, Buffer.from(dice.of(bodies)));
  if (kind < 55) return Buffer.from(dice.of(['[', '{"a":', '{"filter":']).repeat(1 + dice.number(20_000)));
  if (kind < 60) return Buffer.from(dice.text(dice.number(5000)));
  return Buffer.from(
    JSON.stringify(Object.fromEntries(Array.from({ length: dice.number(8) }, () => [dice.of(KEYS), valueOf(dice, 0)]))),
  );
}

const KEYS = [
  'document',
  'sign',
  'request_id',
  'bulk_processing',
  'document_id',
  'request_ids',
  'hash_sum',
  'filter',
  'start_from',
  'count',
  'code',
  'signature',
  'client_id',
  'client_secret',
  'user_id',
  'auth_type',
  'password',
  'document_ids',
  'sgtins',
  'sgtin',
  'gtin',
  'sscc',
  'status',
  'start_date',
  'report_id',
  '__proto__',
  'constructor',
];

function valueOf(dice: Dice, depth: number): unknown {
  const kind = dice.number(depth > 4 ? 8 : 10);
  if (kind < 2) return dice.text(dice.number(60));
  if (kind === 2) return dice.of([0, -1, 1.5, 1e308, 2 ** 53, 100, 1000, 100_000]);
  if (kind === 3) return dice.of([true, false, null]);
  if (kind === 4) return dice.of(['2026-11-21 10:00:00', '2026-99-99', '0', '9'.repeat(400), '']);
  if (kind === 5) return '00000000-0000-4000-8000-000000000000';
  if (kind === 6) return Buffer.from(dice.text(dice.number(300))).toString('base64');
  if (kind === 7) return `04600000000015TESTS0000000${dice.number(10)}`;
  if (kind === 8) return Array.from({ length: dice.number(6) }, () => valueOf(dice, depth + 1));
  return Object.fromEntries(Array.from({ length: dice.number(5) }, () => [dice.of(KEYS), valueOf(dice, depth + 1)]));
}

/** Some bytes changed, taken out or doubled; often none. */
function mutated(dice: Dice, body: Buffer): Buffer {
  if (dice.chance(20) || body.length === 0) return body;
  const changed = Buffer.from(body);
  for (let times = 1 + dice.number(4); times > 0; times -= 1) changed[dice.number(changed.length)] = dice.number(256);
  if (dice.chance(20)) return changed.subarray(0, dice.number(changed.length));
  return dice.chance(10) ? Buffer.concat([changed, changed]) : changed;
}

/** What came back: a status and a body, or that the connection was closed without an answer. */
export type FuzzAnswer = { status: number; body: string } | 'closed' | 'silent';

const PATIENCE_MS = 15_000;

/** Sends the bytes over a connection of their own and reads to its end. */
export function exchange(port: number, request: FuzzRequest): Promise<FuzzAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(request.bytes);
      // A request that is cut, or that promises more than it brings, ends here; the registry must live with it.
      socket.end();
    });
    const timer = setTimeout(() => {
      socket.destroy();
      resolve('silent');
    }, PATIENCE_MS);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answerOf(Buffer.concat(chunks).toString('utf8')));
    });
  });
}

function answerOf(text: string): FuzzAnswer {
  const final = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const match = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(final);
  if (match === null) return 'closed';
  const head = match[2] ?? '';
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Infinity);
  // Bytes behind the request may have got an answer of their own.
  const body = Buffer.from(match[3] ?? '')
    .subarray(0, length)
    .toString('utf8');
  return { status: Number(match[1]), body };
}

const DOCUMENTED = [400, 401, 403, 404, 405, 406, 408, 413, 417, 429, 431, 501, 503];

/** Why an answer is none that the interface knows (public-facts 1.9); undefined when it is. */
export function whyUndocumented(answer: FuzzAnswer, verb: string): string | undefined {
  if (answer === 'closed') return undefined;
  if (answer === 'silent') return `no answer within ${PATIENCE_MS} ms`;
  const { status, body } = answer;
  if (status >= 500 && !DOCUMENTED.includes(status)) return `status ${status}: ${body}`;
  if (status < 300) return undefined;
  if (!DOCUMENTED.includes(status)) return `status ${status}`;
  if (body === '') return verb === 'HEAD' ? undefined : 'an error without a body';
  return whyNoError(body, status);
}

function whyNoError(body: string, status: number): string | undefined {
  // What the gateway says of a root that it does not know.
  if (status === 404 && body.includes('<center>nginx</center>')) return undefined;
  try {
    const parsed = JSON.parse(body) as Record<string, unknown>;
    const business = typeof parsed['error_description'] === 'string' || typeof parsed['error_desc'] === 'string';
    const framework =
      typeof parsed['error'] === 'string' && parsed['status'] === status && typeof parsed['path'] === 'string';
    return business || framework ? undefined : `an unknown shape: ${body.slice(0, 200)}`;
  } catch {
    return `no JSON: ${body.slice(0, 200)}`;
  }
}
