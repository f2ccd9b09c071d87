import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isUuid } from '#kernel';
import { TestClient, type HttpAnswer } from '../../test/client.js';

const ON = { participant: 'own', clientId: 'c-1', clientSecret: 'client-secret-1' };
const LOGIN = { name: 'abroad', userId: 'Jane@Abroad', password: 'correct horse', ...ON };
const XML = '<documents version="1.38"><nothing/></documents>';
const hasGost = spawnSync('openssl', ['engine', 'gost']).status === 0;

let client: TestClient;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-newcomer-'));
  if (!hasGost)
    process.stderr.write(
      'SKIPPED: no OpenSSL with a GOST engine on this machine (Debian: libengine-gost-openssl), no GOST ' +
        'signature was checked by the sandbox\n',
    );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  client = await TestClient.start();
});
afterEach(() => client.stop());

const admit = (body: object): Promise<HttpAnswer> => client.control('POST', '/accounts', body);
const code = (userId: string, authType: string): Promise<HttpAnswer> =>
  client.post('/auth', { client_id: 'c-1', client_secret: 'client-secret-1', user_id: userId, auth_type: authType });
const send = (token: string, fields: object): Promise<HttpAnswer> =>
  client.post(
    '/documents/send',
    { document: Buffer.from(XML).toString('base64'), request_id: randomUUID(), ...fields },
    { authorization: `token ${token}` },
  );

describe('a user with a password', () => {
  it('signs in by login and password and sends without a signature', async () => {
    const { userId, ...made } = (await admit(LOGIN)).json;
    expect(made).toEqual({ name: 'abroad', login: 'jane@abroad' });
    const issued = await code('jane@ABROAD', 'PASSWORD');
    expect(issued.status).toBe(200);
    const token = await client.post('/token', { code: issued.json.code, password: 'correct horse' });
    expect(token).toMatchObject({ status: 200, json: { life_time: 600 } });
    expect(await send(token.json.token, { sign: 'AAAA' })).toMatchObject({
      status: 400,
      json: { error_description: expect.stringContaining('must be omitted') },
    });
    for (const fields of [{}, { sign: null }, { sign: '' }])
      expect(await send(token.json.token, fields)).toMatchObject({
        status: 200,
        json: { document_id: expect.any(String) },
      });
    const { users } = (
      await client.post('/users/filter', { filter: { login: 'jane' } }, { authorization: `token ${token.json.token}` })
    ).json;
    expect(users).toMatchObject([{ user_id: userId, login: 'jane@abroad' }]);
    expect([isUuid(userId), (await code(userId, 'PASSWORD')).status]).toEqual([true, 200]);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({});
  });

  it('is refused with a wrong password, no password, a signature, or the other auth_type', async () => {
    await admit(LOGIN);
    expect((await code('jane@abroad', 'SIGNED_CODE')).json).toEqual({
      error_description: 'Error during operation: auth_type must be PASSWORD for this user',
    });
    const { json } = await code('jane@abroad', 'PASSWORD');
    for (const [proof, words] of [
      [{ password: 'wrong horse' }, 'the password is wrong'],
      [{ password: 'correct horse ' }, 'the password is wrong'],
      [{}, 'the password is missing'],
      [{ signature: 'AAAA' }, 'the password is missing'],
    ] as const) {
      expect(await client.post('/token', { code: json.code, ...proof })).toMatchObject({
        status: 400,
        json: { error_description: `Error during operation: ${words}` },
      });
    }
    const { user_id: userId, client_id: clientId, client_secret: clientSecret } = client.credentials('main');
    const other = await client.post('/auth', {
      client_id: clientId,
      client_secret: clientSecret,
      user_id: userId,
      auth_type: 'PASSWORD',
    });
    expect(other).toMatchObject({
      status: 400,
      json: { error_description: 'Error during operation: auth_type must be SIGNED_CODE for this user' },
    });
  });

  it('is known again after a restart, and the password itself is not in the journal', async () => {
    const dataDir = join(folder, 'data');
    await client.stop();
    client = await TestClient.start({ dataDir });
    await admit(LOGIN);
    const before = await client.post('/token', {
      code: (await code('jane@abroad', 'PASSWORD')).json.code,
      password: 'correct horse',
    });
    await client.stop();
    expect(readFileSync(join(dataDir, 'journal.ndjson'), 'utf8')).not.toContain('correct horse');
    client = await TestClient.start({ dataDir });
    expect((await send(before.json.token, {})).status).toBe(200);
    const again = await client.post('/token', {
      code: (await code('jane@abroad', 'PASSWORD')).json.code,
      password: 'correct horse',
    });
    expect(again.status).toBe(200);
  });
});

describe('an order to make a user known', () => {
  it.each([
    [{ ...LOGIN, participant: 'nobody' }, 'no participant "nobody"'],
    [{ ...LOGIN, name: 'main' }, 'a user "main" already'],
    [{ ...LOGIN, name: 'a/b' }, 'name'],
    [{ ...LOGIN, userId: undefined }, 'needs a userId'],
    [{ ...LOGIN, userId: '08C640A17B09BDF9174EFA69E64C8C11EE1F2E6F' }, 'already'],
    [{ ...LOGIN, certificatePem: 'x' }, 'either a certificate or a password'],
    [{ ...ON, name: 'a' }, 'either a certificate or a password'],
    [{ ...ON, name: 'a', certificatePem: 'no certificate' }, ''],
    [{ ...LOGIN, admin: true }, 'admin'],
  ])('is refused in words: case %#', async (body, words) => {
    expect(await admit(body)).toMatchObject({
      status: 400,
      json: { error_description: expect.stringContaining(words) },
    });
    expect((await code('jane@abroad', 'PASSWORD')).status).toBe(400);
  });
});

describe('a user with a GOST R 34.10-2012 certificate', () => {
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = (name: string, bits: number): void => {
    const key = [
      '-newkey',
      `gost2012_${bits}`,
      '-pkeyopt',
      'paramset:A',
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
      `-md_gost12_${bits}`,
    ];
    openssl('req', '-engine', 'gost', '-x509', ...key, '-days', '30', '-subj', `/CN=${name}`);
  };
  const signed = (name: string, content: string, bits: number): string => {
    writeFileSync(join(folder, 'content'), content);
    const sign = [
      '-sign',
      '-binary',
      '-cades',
      '-nosmimecap',
      '-in',
      'content',
      '-signer',
      `${name}.crt`,
      '-inkey',
      `${name}.key`,
      '-outform',
      'DER',
    ];
    return openssl('cms', '-engine', 'gost', ...sign, '-md', `md_gost12_${bits}`).toString('base64');
  };

  (hasGost ? it : it.skip).each([[256], [512]])(
    'of %i bits signs in and sends; another key, other bytes and damage are refused',
    async (bits) => {
      newKey('gost', bits);
      newKey('other', bits);
      const made = await admit({ ...ON, name: 'gost', certificatePem: readFileSync(join(folder, 'gost.crt'), 'utf8') });
      expect(made).toMatchObject({
        status: 200,
        json: { name: 'gost', userId: expect.stringMatching(/^[0-9a-f]{40}$/) },
      });
      const { json } = await code(made.json.userId, 'SIGNED_CODE');
      const tokenFor = (signature: string): Promise<HttpAnswer> =>
        client.post('/token', { code: json.code, signature });
      expect((await tokenFor(signed('other', json.code, bits))).json.error_description).toContain(
        'the certificate belongs to another user',
      );
      expect((await tokenFor(signed('gost', 'another code', bits))).json.error_description).toContain(
        'does not verify (GOST)',
      );
      const damaged = Buffer.from(signed('gost', json.code, bits), 'base64');
      damaged[damaged.length - 1] = (damaged[damaged.length - 1] as number) ^ 1;
      expect((await tokenFor(damaged.toString('base64'))).json.error_description).toContain('does not verify (GOST)');
      const token = await tokenFor(signed('gost', json.code, bits));
      expect(token.status).toBe(200);
      expect((await send(token.json.token, { sign: signed('gost', XML, bits) })).status).toBe(200);
      expect((await client.control('GET', '/violations')).json.byRule).toEqual({ bad_signature: 3 });
    },
  );
});
