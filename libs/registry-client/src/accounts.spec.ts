import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { PedigreeError } from '#kernel';
import { describeAccounts, readAccounts, type Environment } from './accounts.js';

const folder = mkdtempSync(join(tmpdir(), 'pedigree-accounts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'accounts.json');
mkdirSync(join(folder, 'secrets'));
writeFileSync(join(folder, 'secrets/pin'), 'pin-9471\n');
writeFileSync(join(folder, 'secrets/empty'), '\n');
writeFileSync(join(folder, 'secrets/long'), 'x'.repeat(20_000));

const base = { name: 'main', client_id: 'c', client_secret: 'hush-hush', user_id: 'u' };
const command = { kind: 'command', command: ['sign', '{in}'] };
const http = { kind: 'http', url: 'https://signer.example/sign' };
const read = (account: object, environment?: Environment) => {
  writeFileSync(file, JSON.stringify([account]));
  return readAccounts(file, environment)[0];
};
const failure = (account: object): PedigreeError => {
  try {
    read(account);
  } catch (error) {
    return error as PedigreeError;
  }
  throw new Error('nothing was wrong with it');
};

describe('signers in the accounts file', () => {
  it('are a program, with what it needs and limits by default', () => {
    const signer = { ...command, certificate_file: 'user.crt', secret_file: 'secrets/pin', environment: { LANG: 'C' } };
    expect(read({ ...base, signer })?.signer).toEqual({
      kind: 'command',
      command: ['sign', '{in}'],
      folder,
      environment: { LANG: 'C' },
      certificateFile: join(folder, 'user.crt'),
      secret: 'pin-9471',
      timeLimitMs: 5_000,
      concurrency: 2,
    });
  });

  it('are a service, with its template and its answer', () => {
    const signer = {
      ...http,
      headers: { authorization: 'Bearer {secret}' },
      secret: 's',
      body: { data: '{base64}' },
      answer_field: 'result.cms',
      ca_file: 'ca.pem',
      time_limit_ms: 700,
      retries: 0,
      concurrency: 9,
    };
    expect(read({ ...base, signer })?.signer).toEqual({
      kind: 'http',
      url: 'https://signer.example/sign',
      headers: { authorization: 'Bearer {secret}' },
      secret: 's',
      body: { data: '{base64}' },
      answerField: 'result.cms',
      caFile: join(folder, 'ca.pem'),
      timeLimitMs: 700,
      retries: 0,
      concurrency: 9,
    });
  });

  it('are a password instead of a signature', () => {
    expect(
      read({ ...base, signer: { kind: 'password', password_env: 'MAIN_PASSWORD' } }, { MAIN_PASSWORD: 'pw' })?.signer,
    ).toEqual({ kind: 'password', password: 'pw' });
  });

  it('take a secret from a file or a variable wherever one is wanted', () => {
    const account = {
      name: 'main',
      client_id: 'c',
      client_secret_env: 'CLIENT_SECRET',
      user_id: 'u',
      signer: { kind: 'pkcs12', file: 'a.p12', password_file: 'secrets/pin' },
    };
    expect(read(account, { CLIENT_SECRET: 'from the variable' })).toEqual({
      name: 'main',
      clientId: 'c',
      clientSecret: 'from the variable',
      userId: 'u',
      signer: { kind: 'pkcs12', file: join(folder, 'a.p12'), password: 'pin-9471' },
    });
  });
});

describe('a fault in the accounts file', () => {
  it.each([
    [{ ...base, client_secret: undefined, signer: command }, 'accounts[0].client_secret', 'is missing'],
    [{ ...base, client_secret_env: 'X', signer: command }, 'accounts[0].client_secret', 'more than once'],
    [{ ...base, signer: { kind: 'password' } }, 'accounts[0].signer.password', 'is missing'],
    [
      { ...base, signer: { kind: 'password', password_env: 'NOT_SET' } },
      'accounts[0].signer.password_env',
      'NOT_SET is not set',
    ],
    [{ ...base, signer: { ...command, secret_file: 'nowhere' } }, 'accounts[0].signer.secret_file', 'ENOENT'],
    [{ ...base, signer: { ...command, secret_file: 'secrets/empty' } }, 'accounts[0].signer.secret_file', 'is empty'],
    [{ ...base, signer: { ...command, secret_file: 'secrets/long' } }, 'accounts[0].signer.secret_file', 'longer than'],
    [{ ...base, signer: { ...command, command: [] } }, 'accounts[0].signer.command', ''],
    [{ ...base, signer: { ...command, command: [''] } }, 'accounts[0].signer.command', 'names no program'],
    [
      { ...base, signer: { ...command, command: ['sign', '-pin', '{secret}'] } },
      'accounts[0].signer.command',
      'SIGNER_SECRET',
    ],
    [{ ...base, signer: { ...command, time_limit_ms: 60_000 } }, 'accounts[0].signer.time_limit_ms', ''],
    [{ ...base, signer: { ...command, shell: true } }, 'accounts[0].signer.shell', ''],
    [{ ...base, signer: { ...http, url: 'http://signer.example/' } }, 'accounts[0].signer.url', 'https'],
    [{ ...base, signer: { ...http, url: 'https://user:pw@signer.example/' } }, 'accounts[0].signer.url', 'headers'],
    [{ ...base, signer: { ...http, retries: 100 } }, 'accounts[0].signer.retries', ''],
    [{ ...base, signer: { ...http, headers: { 'a b': 'c' } } }, 'accounts[0].signer.headers.a b', ''],
  ])('is named with index and field: case %#', (account, field, words) => {
    const { place, message } = failure(account);
    expect([place.field, message]).toEqual([field, expect.stringContaining(words)]);
    expect(message).not.toMatch(/hush-hush|pin-9471|user:pw/);
  });

  it('is a file that every user of the machine can read: the accounts themselves, or a secret beside them', () => {
    for (const each of [folder, join(folder, 'secrets')]) chmodSync(each, 0o755);
    const account = {
      name: 'main',
      client_id: 'c',
      client_secret: 's',
      user_id: 'u',
      signer: { kind: 'password', password_file: 'secrets/pin' },
    };
    chmodSync(join(folder, 'secrets/pin'), 0o600);
    writeFileSync(file, JSON.stringify([account]));
    chmodSync(file, 0o644);
    for (const open of [() => readAccounts(file), () => describeAccounts(file)])
      expect(open).toThrow(`accounts: every user of this machine can read or change ${file} (mode 0644)`);
    chmodSync(file, 0o600);
    expect(readAccounts(file)).toHaveLength(1);
    chmodSync(join(folder, 'secrets/pin'), 0o604);
    expect(() => readAccounts(file)).toThrow(
      'accounts[0].signer.password_file: every user of this machine can read or change ' +
        `${join(folder, 'secrets/pin')} (mode 0604)`,
    );
    chmodSync(folder, 0o700);
  });

  it('does not stand in the way of saying who the accounts are', () => {
    writeFileSync(file, JSON.stringify([{ ...base, signer: { kind: 'password', password_file: 'not/here' } }]));
    expect(() => readAccounts(file)).toThrow('cannot read');
    expect(describeAccounts(file)).toEqual([{ name: 'main', userId: 'u', signer: 'password' }]);
  });
});
