import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import { NOT_HERE } from './not-here.js';

const VALUES: Record<string, string> = {
  sgtin: '04600000000015ABCDEFGHJKLMN',
  gtin: '04600000000015',
  sscc: '046000000000000017',
  branch_id: '00000000100101',
};

/** Every route of public-facts 1.10. */
const documented = (): string[] => {
  const page = readFileSync(new URL('../../../../docs/public-facts.md', import.meta.url), 'utf8');
  return (/### 1\.10 All routes[\s\S]*?```text\n([\s\S]*?)```/.exec(page)?.[1] ?? '').trim().split('\n');
};

describe.each(['interface-v1', 'mdlp'])('every route of the public protocol, by %s', (profile) => {
  let client: TestClient;
  beforeAll(async () => {
    client = await TestClient.start({ profile });
  });
  afterAll(() => client.stop());

  async function call(route: string): Promise<HttpAnswer[]> {
    const [verb = '', path = ''] = route.split(' ');
    const filled = path
      .replace('*', 'filter')
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? randomUUID());
    const headers = await client.headers('north');
    return Promise.all(
      (verb === 'any' ? ['GET', 'POST'] : [verb]).map((method) =>
        client.http(`${client.sandbox.url}/api/v1${filled}`, {
          method,
          headers,
          ...(method === 'POST' ? { body: '{}' } : {}),
        }),
      ),
    );
  }

  /** Neither the framework nor the gateway in front answers for an operation. */
  const isServed = ({ status, json }: HttpAnswer): boolean =>
    status !== 405 && status !== 501 && (status < 400 || typeof json?.error_description === 'string');

  it('works, or says that it is not part of this sandbox', async () => {
    const routes = documented().filter((route) => route !== 'GET /auth/logout');
    expect(routes.length).toBeGreaterThan(100);
    const absent: readonly string[] = NOT_HERE;
    for (const route of routes) {
      for (const answer of await call(route)) {
        if (!absent.includes(route))
          expect([route, answer.status, isServed(answer)]).toEqual([route, answer.status, true]);
        else
          expect([route, answer.status, answer.json]).toEqual([
            route,
            501,
            { error_description: expect.stringMatching(/^Error during operation: .* is not part of this sandbox$/) },
          ]);
      }
    }
  });

  it('is documented, where it is not part of this sandbox', () => {
    expect(documented()).toEqual(expect.arrayContaining([...NOT_HERE]));
  });

  it('is told from one that nobody knows, which is a 404, and from a root that nobody knows', async () => {
    const unknown = await client.get('/reestr/nothing');
    expect([unknown.status, unknown.json]).toEqual([
      404,
      expect.objectContaining({ message: 'Not Found', timestamp: expect.stringMatching(/\+0000$/) }),
    ]);
    const root = await client.get(`${client.sandbox.url}/elsewhere`);
    expect([root.status, root.text]).toEqual([404, expect.stringContaining('<center>nginx</center>')]);
  });
});
