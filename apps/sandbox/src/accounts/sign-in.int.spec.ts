import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import { signAs } from '../../test/signer.js';

const HOUR_MS = 3_600_000;

describe('sign-in and tokens', () => {
  let client: TestClient;

  beforeEach(async () => {
    client = await TestClient.start();
  });
  afterEach(() => client.stop());

  const code = async (account = 'main'): Promise<string> =>
    (await client.post('/auth', client.credentials(account))).json.code;
  const exchange = (signedCode: string, signature: string) => client.post('/token', { code: signedCode, signature });
  const use = async (token: string) =>
    (
      await client.http(`${client.sandbox.url}/api/v1/documents/outcome`, {
        headers: { authorization: `token ${token}` },
      })
    ).status;
  const byRule = async () => (await client.control('GET', '/violations')).json.byRule;

  it('gives a token of 600 minutes for a code signed by the user', async () => {
    const answer = await client.newToken('main');
    expect(answer.status).toBe(200);
    expect(answer.json.life_time).toBe(600);
    expect(await use(answer.json.token)).toBe(200);
    expect((await client.control('GET', '/truth/tokens')).json).toEqual({ tokens: { main: 1 } });
  });

  it('refuses whose secret, id or way of signing in does not fit', async () => {
    for (const wrong of [
      { client_secret: 'x' },
      { client_id: 'x' },
      { user_id: '0'.repeat(40) },
      { auth_type: 'PASSWORD' },
    ]) {
      const answer = await client.post('/auth', { ...client.credentials(), ...wrong });
      expect([answer.status, typeof answer.json.error_description]).toEqual([400, 'string']);
    }
  });

  it('refuses a signature over other bytes, by another user, or that encloses its content', async () => {
    const mine = await code();
    const refused = await Promise.all([
      exchange(mine, signAs('main', Buffer.from(`${mine} `))),
      exchange(mine, signAs('north', Buffer.from(mine))),
      exchange(mine, signAs('main', Buffer.from(mine), { detached: false })),
      exchange(mine, Buffer.from('no signature').toString('base64')),
    ]);
    expect(refused.map((answer) => answer.status)).toEqual([400, 400, 400, 400]);
    expect(refused.map((answer) => answer.json.error_description)).toEqual([
      expect.stringContaining('message digest'),
      expect.stringContaining('certificate'),
      expect.stringContaining('detached'),
      expect.stringContaining('no detached CMS'),
    ]);
    expect(await byRule()).toEqual({ bad_signature: 4 });
    expect((await exchange(mine, signAs('main', Buffer.from(mine)))).status).toBe(200);
  });

  it('wants the signature of a code as base64 without line breaks, as that of a document', async () => {
    const mine = await code();
    const signature = signAs('main', Buffer.from(mine));
    for (const written of [signature.replaceAll(/.{64}/g, '$&\r\n'), `${signature}\n`, `-----${signature}`])
      expect(await exchange(mine, written)).toMatchObject({
        status: 400,
        json: { error_description: expect.stringContaining('signature is no base64 without line breaks') },
      });
    expect((await exchange(mine, signature)).status).toBe(200);
  });

  it('takes a code once, and not after ten virtual minutes', async () => {
    const once = await code();
    expect((await exchange(once, signAs('main', Buffer.from(once)))).status).toBe(200);
    expect((await exchange(once, signAs('main', Buffer.from(once)))).status).toBe(400);
    const late = await code();
    await client.advance(600_001);
    expect((await exchange(late, signAs('main', Buffer.from(late)))).status).toBe(400);
  });

  it('gives one user ten tokens, and another user his own', async () => {
    for (let i = 0; i < 10; i += 1) expect((await client.newToken('main')).status).toBe(200);
    expect((await client.newToken('main')).status).toBe(400);
    expect(await byRule()).toEqual({ too_many_tokens: 1 });
    const north = await client.newToken('north');
    expect(north.status).toBe(200);
    await client.http(`${client.sandbox.url}/api/v1/auth/logout`, {
      headers: { authorization: `token ${north.json.token}` },
    });
    expect(await use(north.json.token)).toBe(401);
    expect((await client.control('GET', '/truth/tokens')).json).toEqual({ tokens: { main: 10 } });
  });

  it('ends a token after more than 30 idle minutes, and after 10 hours of use', async () => {
    const idle = (await client.newToken('main')).json.token;
    await client.advance(HOUR_MS / 2 - 1000);
    expect(await use(idle)).toBe(200);
    await client.advance(HOUR_MS / 2 + 1000);
    expect(await use(idle)).toBe(401);
    const busy = (await client.newToken('main')).json.token;
    for (let quarter = 1; quarter < 40; quarter += 1) {
      await client.advance(HOUR_MS / 4);
      expect(await use(busy)).toBe(200);
    }
    await client.advance(HOUR_MS / 4);
    expect(await use(busy)).toBe(401);
  });

  it('wants the token in the header that the profile names', async () => {
    const token = (await client.newToken('main')).json.token;
    for (const authorization of [token, `Bearer ${token}`, 'token ', `token ${token}x`]) {
      expect(
        (await client.http(`${client.sandbox.url}/api/v1/documents/outcome`, { headers: { authorization } })).status,
      ).toBe(401);
    }
    await client.http(`${client.sandbox.url}/api/v1/documents/outcome?token=${token}`);
    expect(await byRule()).toEqual({ token_in_url: 1 });
  });
});
