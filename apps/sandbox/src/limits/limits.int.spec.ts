import { afterEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import type { SandboxOptions } from '../main.js';

describe('call limits', () => {
  let client: TestClient;
  afterEach(() => client.stop());

  async function start(options: SandboxOptions): Promise<() => Promise<number>> {
    client = await TestClient.start({ limits: false, ...options });
    await client.token();
    // Sign-in is limited too; the limit begins when its tokens are there.
    await client.control('POST', '/limits', { on: true });
    return async () => (await client.get('/documents/outcome')).status;
  }

  it('answers a call that comes too soon with 429 and the interval in force', async () => {
    const call = await start({ intervalMs: 60_000, language: 'ru' });
    expect(await call()).toBe(200);
    const limited = await client.get('/documents/outcome');
    expect(limited.status).toBe(429);
    expect(limited.json.error_description).toContain('интервал между запросами 60000 мс');
    expect(limited.headers.get('retry-after')).toBeNull();
    expect((await client.get('/documents/income')).status).toBe(200);
    const report = (await client.control('GET', '/violations')).json;
    expect(report).toMatchObject({
      count: 1,
      rateLimited: 1,
      byRule: { call_interval: 1 },
      violations: [{ rule: 'call_interval', call: 'list_outgoing', account: 'main' }],
    });
  });

  it('counts a call that does not wait after a 429 as one more broken rule', async () => {
    const call = await start({ intervalMs: 60_000, language: 'en', retryAfter: true });
    expect([await call(), await call(), await call()]).toEqual([200, 429, 429]);
    const limited = await client.get('/documents/outcome');
    expect(limited.json.error_description).toContain('60000 ms');
    expect(limited.headers.get('retry-after')).toBe('60');
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({
      call_interval: 3,
      too_early_after_429: 2,
    });
    expect((await client.control('GET', '/truth/calls')).json.calls).toContainEqual(
      expect.objectContaining({ account: 'main', method: 'list_outgoing', calls: 4, rateLimited: 3 }),
    );
    expect((await client.control('DELETE', '/violations')).status).toBe(200);
    expect((await client.control('GET', '/violations')).json).toMatchObject({ count: 0, byRule: {} });
  });

  it('takes its intervals from the profile, and from the control port while it runs', async () => {
    const call = await start({});
    expect((await client.control('GET', '/limits')).json).toMatchObject({
      on: true,
      intervalMs: null,
      intervals: { send: 100, status: 100 },
    });
    await client.control('POST', '/limits', { intervalMs: 60_000 });
    expect([await call(), await call()]).toEqual([200, 429]);
    await client.control('POST', '/limits', { off: true });
    expect([await call(), await call()]).toEqual([200, 200]);
  });

  it('limits sign-in by user, too', async () => {
    client = await TestClient.start({ limits: true, intervalMs: 60_000 });
    const signIn = async (account: string) => (await client.post('/auth', client.credentials(account))).status;
    expect([await signIn('main'), await signIn('north'), await signIn('main')]).toEqual([200, 200, 429]);
  });
});
