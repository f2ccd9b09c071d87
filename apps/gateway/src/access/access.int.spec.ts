import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { makeKey, revokeKey } from '../../test/keys.js';
import { TestHarness } from '../../test/test-harness.js';
import { gatewayConfig } from '../config.js';
import { startGateway, type RunningGateway } from '../gateway.js';

const MAKE_ONE = 'make a key on the host: pedigree keys add NAME --role admin --reason TEXT';

/** All that a program may which gives commands. */
const ERP = [
  ...['commands/{commandId}', 'documents', 'documents/{requestId}', 'documents/{requestId}/items', 'groups'],
  ...[
    'groups/{groupId}',
    'inbound',
    'inbound/{documentId}',
    'outcomes',
    'stock',
    'stock-uploads/{uploadId}',
    'summary',
  ],
]
  .map((path) => `GET /v1/${path}`)
  .concat(
    ...['commands', 'groups/{groupId}/resumptions', 'packs/checks', 'stock-uploads'].map((path) => `POST /v1/${path}`),
    ...['POST /v1/stock-uploads/{uploadId}/finish', 'POST /v1/validate', 'PUT /v1/stock-uploads/{uploadId}/parts/{n}'],
  );
/** Exercises, and questions that take a body. */
const AUDITOR_BESIDE_READING = ['mock-recalls', 'mock-recalls/{recallId}/trace', 'packs/checks', 'validate'].map(
  (path) => `POST /v1/${path}`,
);
/** What operators did is read by others. */
const NOT_OPERATOR = ['access-log', 'access-log/{position}', 'reports/overrides'].map((path) => `GET /v1/${path}`);

let harness: TestHarness;
let port: string;

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  port = new URL(harness.gateway.url).port;
});
afterAll(() => harness.stop());

/** Asks as any client might: by whatever name, with whatever headers. */
const call = (
  headers: OutgoingHttpHeaders,
  { at = port, method = 'GET', path = '/v1/summary' } = {},
): Promise<{ status: number | undefined; body: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: at, method, path, headers, setHost: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(text) as Record<string, unknown> }));
    });
    sent.on('error', reject).end();
  });

/** A gateway of its own over the trial's database, for as long as `work` takes. */
async function withGateway<T>(
  environment: NodeJS.ProcessEnv,
  work: (gateway: RunningGateway) => Promise<T>,
): Promise<T> {
  const gateway = await startGateway(gatewayConfig({ ...harness.environment, ...environment }));
  try {
    return await work(gateway);
  } finally {
    await gateway.stop();
  }
}

describe('before the first key', () => {
  it.each(['127.0.0.1', '[::1]', 'localhost', 'LocalHost'])('serves this machine, which calls us %s', async (name) => {
    expect((await call({ host: `${name}:${port}` })).status).toBe(200);
    expect((await call({ host: `${name}:${port}`, origin: `http://${name}:${port}` })).status).toBe(200);
  });

  it.each([
    ['the name of a site that was led here', () => ({ host: `evil.example:${port}` })],
    ['a name that begins as ours', () => ({ host: `127.0.0.1.evil.example:${port}` })],
    ['a name that ends as ours', () => ({ host: `evil.localhost:${port}` })],
    ['a user who is called as we are', () => ({ host: `127.0.0.1:${port}@evil.example` })],
    ['another port', () => ({ host: '127.0.0.1:1' })],
    ['no port', () => ({ host: 'localhost' })],
    ['an address of this machine in its network', () => ({ host: `192.168.1.7:${port}` })],
  ])('refuses a Host that is %s', async (_what, headers) => {
    const { status, body } = await call(headers());
    expect({ status, ...body }).toMatchObject({
      status: 403,
      code: 'forbidden',
      field: 'Host',
      detail: expect.stringContaining(MAKE_ONE) as unknown,
    });
    expect(body['detail']).toContain(`127.0.0.1:${port}`);
  });

  it.each(['https://evil.example', 'null', 'http://localhost:3000', 'http://evil.example:8080', 'file://', ''])(
    'refuses a page of another site, whose Origin is "%s"',
    async (origin) => {
      const { status, body } = await call(
        { host: `127.0.0.1:${port}`, origin },
        { method: 'POST', path: '/v1/webhooks/6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01/resume' },
      );
      expect({ status, ...body }).toMatchObject({
        status: 403,
        code: 'forbidden',
        field: 'Origin',
        detail: expect.stringContaining(MAKE_ONE) as unknown,
      });
    },
  );

  it.each(['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded', 'Via', 'X-Real-IP'])(
    'refuses what a proxy has passed on with %s',
    async (name) => {
      const { status, body } = await call({ host: `127.0.0.1:${port}`, [name]: '127.0.0.1' });
      expect({ status, ...body }).toMatchObject({
        status: 403,
        code: 'forbidden',
        field: name.toLowerCase(),
        detail: expect.stringContaining('PEDIGREE_BEHIND_PROXY=true') as unknown,
      });
    },
  );

  it('tells its health to anybody', async () =>
    expect((await call({ host: 'evil.example' }, { path: '/health/ready' })).status).toBe(200));

  it('does not start behind a proxy', async () => {
    await expect(withGateway({ PEDIGREE_BEHIND_PROXY: 'true' }, async () => undefined)).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'PEDIGREE_BEHIND_PROXY' },
    });
  });
});

describe('once a key was made', () => {
  let authorization: string;
  beforeAll(async () => {
    authorization = `Bearer ${await makeKey(harness.db.pool, 'only', ['admin'])}`;
  });

  it('serves whoever has it, by any name and through any proxy', async () => {
    const foreign = {
      host: 'pedigree.example',
      origin: 'https://pedigree.example',
      'x-forwarded-for': '10.0.0.7',
      authorization,
    };
    await withGateway({ PEDIGREE_BEHIND_PROXY: 'true' }, async ({ url }) => {
      const at = new URL(url).port;
      expect([(await call(foreign, { at })).status, (await call({ host: `127.0.0.1:${at}` }, { at })).status]).toEqual([
        200, 401,
      ]);
    });
    expect((await call(foreign)).status).toBe(200);
  });

  it('takes the scheme however it is written (RFC 9110, 11.1)', async () => {
    const statusBy = async (scheme: string) =>
      (await call({ host: 'any', authorization: authorization.replace('Bearer', scheme) })).status;
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) expect(await statusBy(scheme)).toBe(200);
    expect(await statusBy('Basic')).not.toBe(200);
  });

  it('lets an auditor read everything', async () => {
    const auditor = `Bearer ${await makeKey(harness.db.pool, 'auditor', ['auditor'])}`;
    const reading = harness.gateway.routes.filter((route) => /^GET \/v1\//.test(route));
    expect(reading.length).toBeGreaterThan(40);
    const refused: string[] = [];
    for (const route of reading) {
      const path = route.slice('GET '.length).replace(/\{\w+\}/g, '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01');
      const { status } = await call({ host: 'any', authorization: auditor }, { path });
      if (status === 401 || status === 403) refused.push(route);
    }
    expect(refused).toEqual([]);
    await revokeKey(harness.db.pool, 'auditor');
  });

  it('lets each role do what it may, and nothing else', async () => {
    const routes = harness.gateway.routes.filter((route) => route.includes(' /v1/'));
    const may: Record<string, string[]> = {};
    for (const role of ['erp', 'auditor', 'operator'] as const) {
      const key = `Bearer ${await makeKey(harness.db.pool, `only-${role}`, [role])}`;
      const isLet = async (route: string): Promise<boolean> => {
        const [method = '', path = ''] = route.split(' ');
        const named = path.replace(/\{\w+\}/g, '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01');
        return (await call({ host: 'any', authorization: key }, { method, path: named })).status !== 403;
      };
      may[role] = [];
      for (const route of routes) if (await isLet(route)) may[role].push(route);
      await revokeKey(harness.db.pool, `only-${role}`);
    }
    const { erp = [], auditor = [], operator = [] } = may;
    expect(erp.filter((route) => route !== 'GET /v1/openapi.json').sort()).toEqual(ERP);
    expect(auditor.filter((route) => !route.startsWith('GET ')).sort()).toEqual(AUDITOR_BESIDE_READING);
    expect(routes.filter((route) => !operator.includes(route)).sort()).toEqual(NOT_OPERATOR);
  });

  it('does without one never again: not when the last is revoked, not after a start, and it says what to do', async () => {
    await revokeKey(harness.db.pool, 'only');
    await withGateway({}, async ({ url }) => {
      const at = new URL(url).port;
      const { status, body } = await call({ host: `127.0.0.1:${at}` }, { at });
      expect({ status, ...body }).toMatchObject({
        status: 401,
        code: 'unauthenticated',
        detail: expect.stringContaining('pedigree keys add NAME --role admin') as unknown,
      });
      const readiness = (): ReturnType<typeof call> => call({ host: 'any' }, { at, path: '/health/ready' });
      await until('health names the keys', async () => (await readiness()).body['status'] === 'degraded');
      expect(await readiness()).toMatchObject({
        status: 200,
        body: {
          degraded: [
            {
              name: 'api keys',
              reason: expect.stringMatching(
                /no API key is valid.*pedigree keys add NAME --role admin --reason TEXT/,
              ) as unknown,
            },
          ],
        },
      });
    });
  });

  it('starts beyond loopback when all keys are revoked, and stays shut', async () => {
    await withGateway({ HOST: '0.0.0.0' }, async ({ url }) =>
      expect((await call({ host: 'any' }, { at: new URL(url).port })).status).toBe(401),
    );
  });
});
