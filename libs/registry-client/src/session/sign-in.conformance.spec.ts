import { describe, expect, it } from '@jest/globals';
import { answer } from '../../test/scripted-caller.js';
import { Readings } from '../call/readings.js';
import { Requests, type RequestParts } from '../call/requests.js';
import type { Account, SignerConfig } from '../port.js';
import { loadProfile, type ProfileOverrides } from '../profile.js';
import { signIn } from './sign-in.js';
import type { SignInResult } from './sessions.js';

const CODE = 'a4b9e1c0-0000-4000-8000-000000000001';
const account = (signer: SignerConfig): Account => ({
  name: 'main',
  clientId: 'c',
  clientSecret: 'hush',
  userId: 'u',
  signer,
});
const WITH_KEY = account({ kind: 'pkcs12', file: 'main.p12', password: 'p' });

/** Signs in by interface-v1; the signature is the signed bytes in reverse, so that it tells what was signed. */
async function signedIn(
  as: Account,
  token: Record<string, string | number>,
  overrides: ProfileOverrides = {},
): Promise<{ result: SignInResult; asked: [string, string, unknown][] }> {
  const profile = loadProfile('interface-v1', overrides);
  const asked: [string, string, unknown][] = [];
  const call = (operation: string, { method, path, body }: RequestParts) => {
    asked.push([operation, `${method} ${path}`, JSON.parse(body ?? 'null')]);
    const raw = answer(operation === 'sign_in_code' ? { [profile.fields.code]: CODE } : token);
    return Promise.resolve({ kind: 'answered' as const, raw, retryAfter: undefined });
  };
  const sign = (bytes: Uint8Array): Promise<Buffer> => Promise.resolve(Buffer.from(bytes).reverse());
  return {
    result: await signIn(as, { profile, requests: new Requests(profile), readings: new Readings(profile), sign, call }),
    asked,
  };
}

describe('a sign-in', () => {
  it('exchanges a code that the user signed for a token', async () => {
    const { result, asked } = await signedIn(WITH_KEY, { token: 't-1', life_time: 600 });
    expect(asked).toEqual([
      [
        'sign_in_code',
        'POST /api/v1/auth',
        { client_id: 'c', client_secret: 'hush', user_id: 'u', auth_type: 'SIGNED_CODE' },
      ],
      [
        'sign_in_token',
        'POST /api/v1/token',
        { code: CODE, signature: Buffer.from(CODE).reverse().toString('base64') },
      ],
    ]);
    expect(result).toMatchObject({ kind: 'ok', token: 't-1' });
  });

  it('believes the life that the answer states, in the unit of the profile', async () => {
    expect((await signedIn(WITH_KEY, { token: 't', life_time: 600 })).result).toMatchObject({ lifeMs: 10 * 3_600_000 });
    expect((await signedIn(WITH_KEY, { token: 't', life_time: '30' })).result).toMatchObject({ lifeMs: 30 * 60_000 });
    expect((await signedIn(WITH_KEY, { token: 't', life_time: 600 }, { tokenLifeUnitMs: 1_000 })).result).toMatchObject(
      { lifeMs: 600_000 },
    );
  });

  it('believes no life that is longer than the interface lets a token live (registry-interface 5)', async () => {
    for (const life of [36_000, 1e300])
      expect((await signedIn(WITH_KEY, { token: 't', life_time: life })).result).toMatchObject({
        lifeMs: 10 * 3_600_000,
      });
  });

  it('leaves the life to the profile where the answer states none', async () => {
    for (const token of [{ token: 't' }, { token: 't', life_time: 'long' }, { token: 't', life_time: 0 }])
      expect((await signedIn(WITH_KEY, token)).result).toEqual({ kind: 'ok', token: 't', lifeMs: undefined });
  });

  it('gives the password in place of a signature for a user without a certificate', async () => {
    const { asked } = await signedIn(account({ kind: 'password', password: 'correct horse' }), { token: 't' });
    expect(asked.map(([, , body]) => body)).toEqual([
      { client_id: 'c', client_secret: 'hush', user_id: 'u', auth_type: 'PASSWORD' },
      { code: CODE, password: 'correct horse' },
    ]);
  });

  it('that fails says why without any secret, nor part of one where the words were cut', async () => {
    const password = 'correct  horse battery staple';
    for (const words of [`no: ${password}!`, `${'x'.repeat(480)} ${password}`, `hush, said ${CODE}`]) {
      const { result } = await signedIn(account({ kind: 'password', password }), {
        error_description: words,
        error_code: 7,
      });
      const reason = result.kind === 'failed' ? result.reason : '';
      expect(reason).toContain('[removed]');
      for (const secret of ['correct', 'horse', 'hush', CODE]) expect(reason).not.toContain(secret);
    }
  });

  it('goes by other paths and names where the profile has them', async () => {
    const overrides = {
      operations: { sign_in_token: { path: '/keys' } },
      fields: { code: 'challenge', token: 'pass' },
    };
    const { result, asked } = await signedIn(WITH_KEY, { pass: 't-2' }, overrides);
    expect(asked[1]).toMatchObject(['sign_in_token', 'POST /api/v1/keys', { challenge: CODE }]);
    expect(result).toMatchObject({ kind: 'ok', token: 't-2' });
  });
});
