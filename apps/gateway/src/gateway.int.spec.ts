import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { makeKey } from '../test/keys.js';
import { gatewayConfig } from './config.js';
import { startGateway, type RunningGateway } from './gateway.js';

const SGTIN = '04600000000015ABCDE00100001';
const accept = (items = `<sgtin>${SGTIN}</sgtin>`) =>
  '<documents version="1.38"><accept action_id="701"><subject_id>00000000100101</subject_id>' +
  '<counterparty_id>00000000200101</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date>' +
  `<order_details>${items}</order_details></accept></documents>`;

let db: TestDatabase;
let gateway: RunningGateway;
let folder: string;

const environment = (): NodeJS.ProcessEnv => ({
  DATABASE_URL: db.url,
  PORT: '0',
  LOG_LEVEL: 'silent',
  PEDIGREE_ACCOUNTS: join(folder, 'accounts.json'),
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-gateway-'));
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify([{ name: 'main' }, { name: 'north' }]));
  db = await testDatabase();
  gateway = await startGateway(gatewayConfig(environment()));
});

afterAll(async () => {
  await gateway.stop();
  await db.drop();
  rmSync(folder, { recursive: true });
});

async function post(body: string | Buffer | object, headers: Record<string, string> = {}) {
  const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const answer = await fetch(`${gateway.url}/v1/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: sent as never,
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${gateway.url}${path}`, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const registered = async (): Promise<number> =>
  Number((await db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM command')).rows[0]?.n);

describe('taking commands', () => {
  it('acknowledges with 202 and a place to look, a repeat with 200, and refuses other content with 409', async () => {
    const first = await post({ command_id: 'a/1', xml: accept() });
    expect([first.status, first.headers.get('location'), first.body['repeated']]).toEqual([
      202,
      '/v1/commands/a%2F1',
      false,
    ]);
    const again = await post({ xml: accept(), command_id: 'a/1' });
    expect([again.status, again.body['repeated'], again.body['request_id']]).toEqual([
      200,
      true,
      first.body['request_id'],
    ]);
    const other = await post({ command_id: 'a/1', xml: accept(), reference: 'other' });
    expect([other.status, other.body['code'], other.body['field'], other.body['item']]).toEqual([
      409,
      'command_conflict',
      '/command_id',
      'a/1',
    ]);
    const shown = await get('/v1/commands/a%2F1');
    expect(JSON.parse(shown.text)).toMatchObject({ command_id: 'a/1', request_id: first.body['request_id'] });
    const { rows } = await db.pool.query('SELECT count(*) AS n FROM task WHERE key = $1', [
      `run_command:${String(first.body['request_id'])}`,
    ]);
    expect(rows[0].n).toBe(1n);
  });

  it('lets one of many equal commands in, whoever comes first', async () => {
    const before = await registered();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ command_id: 'race', xml: accept() })));
    expect(answers.filter((one) => one.status === 202)).toHaveLength(1);
    expect(answers.filter((one) => one.status === 200)).toHaveLength(19);
    expect(await registered()).toBe(before + 1);
  });

  it('takes the same document as JSON', async () => {
    const document = {
      action_id: 701,
      subject_id: '00000000100101',
      counterparty_id: '00000000200101',
      operation_date: '2026-01-15T09:00:00+03:00',
      order_details: { sgtin: [SGTIN] },
    };
    expect((await post({ command_id: 'json', document })).status).toBe(202);
    const { rows } = await db.pool.query(
      `SELECT count(DISTINCT document_sha256) AS n FROM command WHERE command_id IN ('json', 'a/1')`,
    );
    expect(rows[0].n).toBe(1n);
  });

  it('answers NDJSON line by line, and one bad line does not stop the others', async () => {
    const lines = [
      JSON.stringify({ command_id: 'n1', xml: accept() }),
      '{oops',
      '',
      JSON.stringify({ command_id: 'n2', xml: accept(), account: 'nobody' }),
      JSON.stringify({ command_id: 'n3', xml: accept() }),
    ];
    const answer = await fetch(`${gateway.url}/v1/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    expect(answer.status).toBe(200);
    const results = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { line: number; error?: { code: string; line: number } });
    expect(results.map((one) => [one.line, one.error?.code])).toEqual([
      [1, undefined],
      [2, 'invalid_json'],
      [4, 'unknown_account'],
      [5, undefined],
    ]);
    expect(results[1]?.error?.line).toBe(2);
  });
});

describe('bad input: a clear error that names the place, nothing registered, the process alive', () => {
  const doctype = '<!DOCTYPE documents [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>';
  const cases: [string, string | Buffer | object, number, string, Record<string, unknown>][] = [
    ['no body', '', 400, 'missing_body', {}],
    ['not JSON', '{"command_id":', 400, 'invalid_json', {}],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400, 'invalid_json', {}],
    ['no command id', { xml: accept() }, 400, 'invalid_command', { field: '/command_id' }],
    ['an unknown field', { command_id: 'x', xml: accept(), prio: 1 }, 400, 'invalid_command', {}],
    ['neither xml nor document', { command_id: 'x' }, 400, 'invalid_command', { field: '/xml' }],
    ['malformed XML', { command_id: 'x', xml: accept().replace('</accept>', '') }, 422, 'malformed_xml', { line: 1 }],
    ['a DOCTYPE', { command_id: 'x', xml: doctype + accept() }, 422, 'forbidden_xml', { line: 1 }],
    ['an entity', { command_id: 'x', xml: accept('<sgtin>&boom;</sgtin>') }, 422, 'forbidden_xml', { line: 1 }],
    [
      'an unknown document type',
      { command_id: 'x', xml: accept().replaceAll('accept', 'accept_all').replace('701', '799') },
      422,
      'unknown_document_type',
      {},
    ],
    [
      'an SGTIN of the wrong shape',
      { command_id: 'x', xml: accept('<sgtin>0460</sgtin>') },
      422,
      'invalid_identifier',
      { item: '0460', line: 1 },
    ],
    [
      'a missing field',
      { command_id: 'x', xml: accept().replace(/<subject_id>.*<\/subject_id>/, '') },
      422,
      'schema_violation',
      { element: expect.stringContaining('subject_id') as unknown },
    ],
    [
      'an unknown account',
      { command_id: 'x', xml: accept(), account: 'nobody' },
      422,
      'unknown_account',
      { field: '/account', item: 'nobody' },
    ],
    [
      'a command after itself',
      { command_id: 'x', xml: accept(), after: ['x'] },
      400,
      'invalid_command',
      { field: '/after' },
    ],
    [
      'an unknown JSON field',
      { command_id: 'x', document: { action_id: 701, colour: 'red' } },
      400,
      'invalid_command',
      {},
    ],
  ];

  it.each(cases)('%s', async (_name, body, status, code, place) => {
    const before = await registered();
    const answer = await post(body);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer.body).toMatchObject({ status, code, ...place });
    expect(String(answer.body['detail']).length).toBeGreaterThan(10);
    expect(answer.status).toBe(status);
    expect(await registered()).toBe(before);
    expect((await get('/health/ready')).status).toBe(200);
  });

  it('a body of 60 MB', async () => {
    const before = await registered();
    const answer = await post(Buffer.alloc(60 * 1024 * 1024, 'x')).catch((error: Error) => error);
    // The server answers and closes before it has read everything; a client still writing may see the reset instead of
    // the answer.
    if (!(answer instanceof Error)) expect([answer.status, answer.body['code']]).toEqual([413, 'body_too_large']);
    expect(await registered()).toBe(before);
    expect((await get('/health/live')).status).toBe(200);
  });

  it('another media type', async () => {
    const answer = await post('<a/>', { 'content-type': 'application/xml' });
    expect([answer.status, answer.body['code']]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('asking', () => {
  it.each([
    ['/v1/documents/not-a-uuid', 400, 'invalid_parameter'],
    ['/v1/documents/6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', 404, 'not_found'],
    ['/v1/documents?phase=lost', 400, 'invalid_parameter'],
    ['/v1/documents?colour=red', 400, 'invalid_parameter'],
    ['/v1/packs/123/history', 422, 'invalid_identifier'],
    [`/v1/packs/${SGTIN}/history`, 404, 'not_found'],
    [`/v1/packs/${SGTIN}`, 404, 'not_found'],
    [`/v1/packs/${SGTIN}?known_at=yesterday`, 400, 'invalid_parameter'],
    [`/v1/packs/${SGTIN}?known_at=999999999`, 400, 'invalid_parameter'],
    [`/v1/containers/${SGTIN}/content`, 422, 'invalid_identifier'],
    ['/v1/containers/046070017700000009/content', 404, 'not_found'],
    ['/v1/containers/046070017700000009/history', 404, 'not_found'],
    ['/v1/evidence/xyz', 400, 'invalid_parameter'],
    ['/v1/commands/unknown', 404, 'not_found'],
    ['/nowhere', 404, 'not_found'],
  ])('%s is answered %i', async (path, status, code) => {
    const answer = await get(path);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code, status });
  });

  it('gives back evidence byte for byte, as a file', async () => {
    const { rows } = await db.pool.query(
      `SELECT encode(document_sha256, 'hex') AS sha FROM command WHERE command_id = 'a/1'`,
    );
    const answer = await get(`/v1/evidence/${rows[0].sha}`);
    expect([answer.status, answer.text, answer.headers.get('content-disposition')]).toEqual([
      200,
      accept(),
      `attachment; filename="${rows[0].sha}"`,
    ]);
  });

  it('describes every route that it has', async () => {
    const document = JSON.parse((await get('/v1/openapi.json')).text) as {
      openapi: string;
      paths: Record<string, object>;
      components: { schemas: { Command: { properties: object } } };
    };
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.components.schemas.Command.properties)).toContain('command_id');
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(gateway.routes.filter((route) => !/^GET \/(docs|v1\/openapi)/.test(route)).sort());
  });

  it.each([
    ['/docs', 'text/html; charset=utf-8', 'swagger-ui-bundle.js'],
    ['/docs/start.js', 'text/javascript', '/v1/openapi.json'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript', 'SwaggerUIBundle'],
    ['/docs/swagger-ui.css', 'text/css', '.swagger-ui'],
  ])('shows them on %s with its own scripts alone, in no frame', async (path, type, text) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get('content-type'), answer.text]).toEqual([
      200,
      type,
      expect.stringContaining(text),
    ]);
    const policy = Object.fromEntries(
      (answer.headers.get('content-security-policy') ?? '')
        .split('; ')
        .map((one) => [one.split(' ')[0], one.split(' ').slice(1).join(' ')]),
    );
    expect(policy).toMatchObject({
      'default-src': "'none'",
      'script-src': "'self'",
      'connect-src': "'self'",
      'frame-ancestors': "'none'",
      'base-uri': "'none'",
      'form-action': "'none'",
    });
    expect([answer.headers.get('x-content-type-options'), answer.headers.get('x-frame-options')]).toEqual([
      'nosniff',
      'DENY',
    ]);
  });
});

describe('access', () => {
  it('wants a key with the right role as soon as one exists, and refuses the open door', async () => {
    await expect(startGateway(gatewayConfig({ ...environment(), HOST: '0.0.0.0' }))).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'HOST' },
    });
    const auditor = await makeKey(db.pool, 'anna', ['auditor']);
    const erp = await makeKey(db.pool, 'erp-1', ['erp']);
    const guarded = await startGateway(gatewayConfig(environment()));
    try {
      const ask = async (path: string, key?: string, init: RequestInit = {}) =>
        (
          await fetch(`${guarded.url}${path}`, {
            ...init,
            headers: {
              'content-type': 'application/json',
              ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            },
          })
        ).status;
      const command = { method: 'POST', body: JSON.stringify({ command_id: 'by-key', xml: accept() }) };
      expect([
        await ask('/v1/summary'),
        await ask('/v1/summary', 'x'.repeat(40)),
        await ask('/v1/summary', auditor),
      ]).toEqual([401, 401, 200]);
      expect([await ask('/v1/commands', auditor, command), await ask('/v1/commands', erp, command)]).toEqual([
        403, 202,
      ]);
      expect([await ask(`/v1/packs/${SGTIN}/history`, erp), await ask('/health/ready')]).toEqual([403, 200]);
      const { rows } = await db.pool.query(`SELECT actor FROM command WHERE command_id = 'by-key'`);
      expect(rows[0].actor).toEqual({ kind: 'system', name: 'erp-1', authenticatedBy: 'api-key' });
      const stored = await db.pool.query('SELECT row_to_json(api_key)::text AS row FROM api_key');
      expect(stored.rows.some((row) => String(row.row).includes(erp.slice(4)))).toBe(false);
    } finally {
      await guarded.stop();
    }
  });
});

it(
  'a gateway guards its requests for as long as it runs: no error of theirs ends the process, under `pedigree up` ' +
    'neither',
  async () => {
    const before = process.listenerCount('uncaughtException');
    const guarded = await startGateway(gatewayConfig(environment()));
    expect(process.listenerCount('uncaughtException')).toBe(before + 1);
    await guarded.stop();
    expect(process.listenerCount('uncaughtException')).toBe(before);
  },
);

describe('a full backlog', () => {
  it('answers 503 with Retry-After, and takes nothing', async () => {
    const full = await startGateway({ ...gatewayConfig(environment()), maxBacklog: 1 });
    try {
      const key = await makeKey(db.pool, 'erp-2', ['erp']);
      const answer = await fetch(`${full.url}/v1/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ command_id: 'too-much', xml: accept() }),
      });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      const { rows } = await db.pool.query(`SELECT count(*) AS n FROM command WHERE command_id = 'too-much'`);
      expect(rows[0].n).toBe(0n);
    } finally {
      await full.stop();
    }
  });
});
