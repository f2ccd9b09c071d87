import { connect } from 'node:net';
import type { Dice } from '../../apps/sandbox/test/fuzz.js';

/** A route as it is described, with what its requests are made of. */
export interface DescribedRoute {
  verb: string;
  /** With parameters in braces. */
  path: string;
  query: { name: string; schema: JsonSchema }[];
  body?: JsonSchema | undefined;
}

interface JsonSchema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

export interface OpenApi {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; schema: JsonSchema }[];
        requestBody?: { content: Record<string, { schema: JsonSchema }> };
      }
    >
  >;
  components: { schemas: Record<string, JsonSchema> };
}

/** Every route that a document describes. */
export const routesOf = ({ paths }: OpenApi): DescribedRoute[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, { parameters = [], requestBody }]) => ({
      verb: verb.toUpperCase(),
      path,
      query: parameters.filter((one) => one.in === 'query'),
      body: requestBody?.content['application/json']?.schema,
    })),
  );

/** What requests are made of: routes, values that mean something, and schemas by name. */
export interface Material {
  routes: DescribedRoute[];
  known: string[];
  /** What most requests name as their host. */
  host: string;
  schemas?: Record<string, JsonSchema>;
}

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  '%00',
  '%2e%2e',
  '..%2f..',
  '%',
  '%zz',
  '%ff',
  '%c0%af',
  '.',
  '*',
  ':',
  '%EF%BB%BF',
  '%ud800',
];
const VERBS = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'SEARCH',
  'QUERY',
  'BREW',
  'get',
  '',
];
const TYPES = [
  'application/json',
  'application/x-ndjson',
  'application/json; charset=utf-16',
  'application/jsonx',
  'text/plain',
  'multipart/form-data; boundary=x',
  '__proto__',
  '/',
  '',
];
const ODD_HEADERS = [
  'expect: 100-continue',
  'expect: nonsense',
  'upgrade: websocket\r\nconnection: upgrade',
  'content-encoding: gzip',
  ': empty',
  'a b: c',
  'x: \u0001',
  '__proto__: 1',
  'host: other',
  'transfer-encoding: gzip, chunked',
  'traceparent: 00-x',
  'range: bytes=0-',
  'accept: application/x-ndjson',
  'content-type: application/json',
  'authorization: Bearer x',
];
const ODD_JSON = [
  '',
  '{',
  '[]',
  'null',
  '1e999',
  '"',
  '{"a":1,"a":2}',
  '{"__proto__":{}}',
  `${'['.repeat(5_000)}`,
  `{${'"a":{'.repeat(5_000)}`,
  '\ufeff{}',
  '{"\u0000":1}',
  '\ud800',
];

const ODD_VERSIONS = ['HTTP/1.0', 'HTTP/9.9', 'FTP/1.1', ''];

/** A request that is nearly right, or anything else: bytes as they go over the wire. */
export function nonsense(dice: Dice, material: Material): Buffer {
  if (dice.chance(4)) return Buffer.from(dice.text(1 + dice.number(2_000)));
  const route = dice.of(material.routes);
  const body = bodyOf(dice, route, material);
  const lines = [requestLineOf(dice, route, material), ...headersOf(dice, body, material)];
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`),
    body,
    Buffer.from(dice.chance(5) ? dice.text(dice.number(500)) : ''),
  ]);
}

function requestLineOf(dice: Dice, route: DescribedRoute, material: Material): string {
  const verb = dice.chance(85) ? route.verb : dice.of(VERBS);
  const target = targetOf(dice, route, material);
  return `${verb} ${target} ${dice.chance(98) ? 'HTTP/1.1' : dice.of(ODD_VERSIONS)}`;
}

function headersOf(dice: Dice, body: Buffer, material: Material): string[] {
  const lines: string[] = [];
  if (dice.chance(97)) lines.push(`host: ${material.host}`);
  lines.push(`content-type: ${dice.chance(80) ? 'application/json' : dice.of(TYPES)}`);
  if (dice.chance(10)) lines.push(dice.of(ODD_HEADERS));
  if (dice.chance(2)) lines.push(`x-giant: ${'g'.repeat(dice.number(40_000))}`);
  if (dice.chance(2)) lines.push(...Array.from({ length: dice.number(2_500) }, (_, at) => `x-${at}: 1`));
  if (dice.chance(5)) lines.push('transfer-encoding: chunked');
  else if (dice.chance(97))
    lines.push(
      'content-length: ' +
        `${dice.chance(95) ? body.length : dice.of(['-1', '1e9', 'x', '99999999999', String(body.length + 5)])}`,
    );
  // Without it, what follows is taken for the next request of the connection.
  if (dice.chance(90)) lines.push('connection: close');
  return lines;
}

function targetOf(dice: Dice, { path, query }: DescribedRoute, material: Material): string {
  const value = (): string =>
    dice.chance(60)
      ? encodeURIComponent(dice.of(material.known))
      : dice.chance(60)
        ? dice.of(NAMES)
        : encodeURIComponent(dice.text(1 + dice.number(40)));
  let target = path.replace(/\{\w+\}/g, value);
  if (dice.chance(15)) target = target.replace(/[^/]*$/, value);
  if (dice.chance(5)) target += `/${Array.from({ length: dice.number(40) }, value).join('/')}`;
  if (dice.chance(2)) target += 'x'.repeat(dice.number(17_000));
  const asked = query
    .filter(({ name }) => name !== 'wait' && dice.chance(30))
    .map(
      ({ name, schema }) =>
        `${name}=${dice.chance(70) ? encodeURIComponent(String(valueOf(dice, schema, material))) : value()}`,
    );
  if (dice.chance(5)) asked.push(`${dice.of(NAMES)}=${value()}`);
  if (asked.length > 0) target += `?${asked.join('&')}`;
  return dice.chance(2) ? `http://other.example${target}` : target;
}

function bodyOf(dice: Dice, { body }: DescribedRoute, material: Material): Buffer {
  if (body === undefined && dice.chance(90)) return Buffer.alloc(0);
  if (dice.chance(15)) return Buffer.from(dice.of(ODD_JSON));
  const text = JSON.stringify(valueOf(dice, body ?? {}, material)) ?? '';
  const bytes = Buffer.from(dice.chance(5) ? `${text}\n${text}\n{` : text);
  if (dice.chance(15) && bytes.length > 0) bytes[dice.number(bytes.length)] = dice.number(256);
  return bytes;
}

/** A value of a schema, or nearly one. */
function valueOf(dice: Dice, schema: JsonSchema, material: Material): unknown {
  const { $ref, anyOf } = schema;
  if ($ref !== undefined) return valueOf(dice, material.schemas?.[$ref.split('/').at(-1) ?? ''] ?? {}, material);
  if (dice.chance(6))
    return dice.of<unknown>([
      null,
      true,
      -1,
      1.5,
      1e308,
      2 ** 53,
      '',
      [],
      {},
      dice.text(30),
      '9'.repeat(400),
      ['__proto__'],
    ]);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return dice.of(schema.enum);
  if (anyOf !== undefined) return valueOf(dice, dice.of(anyOf), material);
  return valueOfType(dice, schema, material);
}

function valueOfType(dice: Dice, { type, properties, items }: JsonSchema, material: Material): unknown {
  if (type === 'array') return Array.from({ length: dice.number(4) }, () => valueOf(dice, items ?? {}, material));
  if (type === 'integer' || type === 'number') return dice.of([0, 1, 10, 701, 415, 9_007_199_254_740_991]);
  if (type === 'boolean') return dice.chance(50);
  if (properties === undefined) return dice.chance(70) ? dice.of(material.known) : dice.text(dice.number(60));
  const entries = Object.entries(properties)
    .filter(() => dice.chance(70))
    .map(([name, one]) => [name, valueOf(dice, one, material)] as const);
  return Object.fromEntries(dice.chance(5) ? [...entries, [dice.of(['constructor', 'x', '__proto__ ']), 1]] : entries);
}

/** Sends a part of the bytes and breaks the connection off, without waiting for anything. */
export function breakOff(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, () => socket.resetAndDestroy()));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve());
  });
}
