import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import { loadProfile } from '../profile.js';

const VALUES: Record<string, string> = {
  sgtin: '04600000000015ABCDEFGHJKLMN',
  gtin: '04600000000015',
  sscc: '046000000000000017',
};

describe.each(['interface-v1', 'mdlp'])('the interface under the profile %s', (profileName) => {
  const profile = loadProfile(profileName);
  let client: TestClient;

  beforeAll(async () => {
    client = await TestClient.start({ profile: profileName });
  });
  afterAll(() => client.stop());

  async function call(method: string, path: string): Promise<HttpAnswer> {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? randomUUID());
    const body = method === 'POST' ? { body: '{}' } : {};
    return client.http(`${client.sandbox.url}${filled}`, { method, headers: await client.headers('north'), ...body });
  }

  /** Not the answer of the framework or of the gateway for a path or verb that it does not know. */
  const isServed = ({ status, json }: HttpAnswer): boolean =>
    status !== 405 && !(status === 404 && (json === undefined || json.error === 'Not Found'));

  it('is served whole: each operation has its route, and refuses in words what it cannot do', async () => {
    const operations = Object.entries(profile.operations).filter(
      ([name, { path }]) => path !== '{link}' && name !== 'sign_out',
    );
    expect(operations.length).toBeGreaterThan(40);
    for (const [name, { method, path }] of operations) {
      const answer = await call(method, `${profile.basePath}${path}`);
      expect([name, isServed(answer)]).toEqual([name, true]);
      expect([name, answer.status < 500]).toEqual([name, true]);
      if (answer.status >= 400) expect([name, typeof answer.json?.error_description]).toEqual([name, 'string']);
    }
  });

  it('is served under /api/v1 alone', async () => {
    expect(profile.basePath).toBe('/api/v1');
    for (const prefix of ['', '/api', '/api/v2'])
      expect(isServed(await call('GET', `${prefix}/documents/outcome`))).toBe(false);
    expect((await call('GET', '/api/v1/documents/outcome')).status).toBe(200);
  });
});
