import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PedigreeError } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { describeWorkerConfig, workerConfig } from './config.js';

const KEY = 'ab'.repeat(32);
const ACCOUNT = {
  name: 'main',
  client_id: 'c',
  client_secret: 'very-secret',
  user_id: 'u',
  signer: { kind: 'pkcs12', file: 'main.p12', password: 'also-secret' },
};

let folder: TemporaryFolder;
let good: NodeJS.ProcessEnv;
const file = (name: string, text: string): string => {
  writeFileSync(join(folder.path, name), text);
  return join(folder.path, name);
};

beforeAll(async () => {
  folder = await temporaryFolder();
  good = {
    DATABASE_URL: 'postgres://pedigree:word@127.0.0.1:5432/postgres',
    REGISTRY_URL: 'https://registry.example.test/',
    PEDIGREE_ACCOUNTS: file('accounts.json', JSON.stringify([ACCOUNT])),
    PEDIGREE_KEY_FILE: file('key', `${KEY}\n`),
  };
});
afterAll(() => folder.remove());

function errorOf(environment: NodeJS.ProcessEnv): PedigreeError {
  try {
    workerConfig(environment);
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
  throw new Error('this configuration was taken');
}

describe('the worker’s configuration', () => {
  it('needs four variables and has defaults for the others', () => {
    expect(workerConfig(good)).toMatchObject({
      databaseUrl: good['DATABASE_URL'],
      registryUrl: 'https://registry.example.test',
      participant: 'own',
      logLevel: 'info',
      profile: { name: 'interface-v1' },
      accounts: [{ name: 'main' }],
      encryptionKey: Buffer.from(KEY, 'hex'),
    });
  });

  it('lays an installation’s overrides over the profile', () => {
    const overrides = file('overrides.json', JSON.stringify({ rules: { unknownGraceMs: 1_500 } }));
    expect(
      workerConfig({ ...good, REGISTRY_PROFILE: 'mdlp', REGISTRY_PROFILE_OVERRIDES: overrides }).profile,
    ).toMatchObject({ name: 'mdlp', rules: { unknownGraceMs: 1_500 } });
  });

  it('limits how many contents of containers are asked for, or asks for none', () => {
    const limits = [{}, { PEDIGREE_CONTENT_FETCH: 'off' }, { PEDIGREE_CONTENT_FETCH: '5' }];
    expect(limits.map((one) => workerConfig({ ...good, ...one }).contentFetch)).toEqual([1_000, 0, 5]);
  });

  it('reads the list of suspended packs each hour, as often as is said, or not at all', () => {
    const given = [{}, { PEDIGREE_SUSPENDED_LIST_MINUTES: 'off' }, { PEDIGREE_SUSPENDED_LIST_MINUTES: '0.5' }];
    const read = given.map((one) => workerConfig({ ...good, ...one }).suspendedListEveryMs);
    expect(read).toEqual([3_600_000, 0, 30_000]);
  });

  it('is shown, and kept in the log, without the passwords of any address', () => {
    const addresses = {
      EVENTSTORE_URL: 'esdb://me:word@log:2113',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:word@collector/?api-key=word',
    };
    expect(JSON.stringify(describeWorkerConfig(workerConfig({ ...good, ...addresses })))).not.toMatch(/[:=]word/);
  });

  const wrong: [string, string, () => string | undefined, RegExp][] = [
    ['DATABASE_URL', 'missing', () => undefined, /DATABASE_URL/],
    ['DATABASE_URL', 'of another kind', () => 'mysql://localhost/x', /must begin with postgres/],
    ['REGISTRY_URL', 'missing', () => undefined, /REGISTRY_URL/],
    ['REGISTRY_URL', 'no address', () => 'registry', /http or https/],
    ['REGISTRY_URL', 'of another kind', () => 'ftp://registry.example.test', /http or https/],
    ['REGISTRY_PROFILE', 'unknown', () => 'interface-v9', /interface-v1 and mdlp/],
    ['REGISTRY_PROFILE_OVERRIDES', 'not there', () => join(folder.path, 'none.json'), /ENOENT/],
    ['REGISTRY_PROFILE_OVERRIDES', 'not JSON', () => file('bad.json', '{'), /JSON/],
    [
      'REGISTRY_PROFILE_OVERRIDES',
      'with an unknown field',
      () => file('unknown.json', '{"rules":{"graceMs":1}}'),
      /rules\.graceMs/,
    ],
    ['PEDIGREE_ACCOUNTS', 'missing', () => undefined, /PEDIGREE_ACCOUNTS/],
    ['PEDIGREE_ACCOUNTS', 'not there', () => join(folder.path, 'none.json'), /ENOENT/],
    ['PEDIGREE_ACCOUNTS', 'not JSON', () => file('accounts-cut.json', '[{"client_secret":"very-secret"'), /JSON/],
    [
      'PEDIGREE_ACCOUNTS',
      'without a user',
      () => file('accounts-bad.json', JSON.stringify([{ ...ACCOUNT, user_id: undefined }])),
      /accounts\[0\]\.user_id/,
    ],
    ['PEDIGREE_ACCOUNTS', 'empty', () => file('accounts-none.json', '[]'), /PEDIGREE_ACCOUNTS/],
    ['PEDIGREE_CONTENT_FETCH', 'no number', () => 'all', /off or a whole number from 1 to 25000/],
    ['PEDIGREE_CONTENT_FETCH', 'too large', () => '25001', /off or a whole number/],
    ['PEDIGREE_CONTENT_FETCH', 'too small', () => '0', /off or a whole number/],
    ['PEDIGREE_SUSPENDED_LIST_MINUTES', 'no number', () => 'often', /off or minutes from 0.01 to 1440/],
    ['PEDIGREE_SUSPENDED_LIST_MINUTES', 'too often', () => '0', /off or minutes/],
    ['PEDIGREE_KEY_FILE', 'missing', () => undefined, /PEDIGREE_KEY_FILE/],
    ['PEDIGREE_KEY_FILE', 'not there', () => join(folder.path, 'none'), /ENOENT/],
    ['PEDIGREE_KEY_FILE', 'too short', () => file('short', 'abcdef'), /64 hexadecimal digits/],
    ['PEDIGREE_KEY_FILE', 'no digits', () => file('words', 'zz'.repeat(32)), /64 hexadecimal digits/],
    ['PEDIGREE_PARTICIPANT', 'empty', () => '', /PEDIGREE_PARTICIPANT/],
    ['LOG_LEVEL', 'unknown', () => 'loud', /LOG_LEVEL/],
  ];

  it.each(wrong)('says that %s is %s', (variable, _what, value, words) => {
    const error = errorOf({ ...good, [variable]: value() });
    expect([error.code, error.place.field]).toEqual(['invalid_configuration', variable]);
    expect(error.message).toMatch(new RegExp(`^${variable}: `));
    expect(error.message).toMatch(words);
    // What is wrong is said; what is secret is not.
    expect(error.message).not.toMatch(/secret"|very-secret|also-secret|:word@/);
  });
});
