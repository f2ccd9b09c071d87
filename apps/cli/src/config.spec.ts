import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PedigreeError } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { showConfig } from './commands/show-config.js';
import { cliConfig } from './config.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());
afterEach(() => {
  jest.restoreAllMocks();
});

function errorOf(run: () => unknown): PedigreeError {
  try {
    run();
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
  throw new Error('this configuration was taken');
}

describe('the configuration of the command line', () => {
  it('needs nothing, and takes an empty variable for an absent one', () => {
    const config = cliConfig({ DATABASE_URL: '', PORT: '', REGISTRY_URL: '' });
    expect({ ...config, environment: {} }).toEqual({ ...cliConfig({}), environment: {} });
    expect(config).toMatchObject({
      port: 8080,
      portIsGiven: false,
      host: '127.0.0.1',
      databaseUrl: undefined,
      registryUrl: undefined,
      sampleConsignments: 75,
    });
  });

  const wrong: [string, string][] = [
    ['REGISTRY_URL', 'localhost:8090'],
    ['REGISTRY_CONTROL_URL', 'file:///etc'],
    ['DATABASE_URL', 'localhost/pedigree'],
    ['PORT', '70000'],
    ['PORT', 'http'],
    ['LOG_LEVEL', 'loud'],
    ['PEDIGREE_PARTICIPANT', 'x'.repeat(101)],
    ['PEDIGREE_URL', 'gateway'],
    ['PEDIGREE_API_KEY', 'short'],
    ['PEDIGREE_SAMPLE_SEED', '-1'],
    ['PEDIGREE_SAMPLE_CONSIGNMENTS', '0'],
    ['PEDIGREE_SAMPLE_CONSIGNMENTS', '901'],
  ];

  it.each(wrong)('refuses %s=%s by name, without its value', (variable, value) => {
    const error = errorOf(() => cliConfig({ [variable]: value }));
    expect([error.code, error.place.field]).toEqual(['invalid_configuration', variable]);
    expect(error.message).toMatch(new RegExp(`^${variable}: .{5}`));
  });
});

describe('the API key of the command line', () => {
  it.each([
    ['has a line end of Windows', `pdg_${'x'.repeat(40)}\r`],
    ['has letters that no header may have', 'ключ'.repeat(10)],
    ['is short', 'pdg_x'],
  ])('is refused by the name of its variable where it %s, and is not shown', (_what, key) => {
    expect(() => cliConfig({ PEDIGREE_API_KEY: key })).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        message: 'PEDIGREE_API_KEY: must be 20 to 200 characters of ASCII, without blanks or line ends',
      }),
    );
    expect(cliConfig({ PEDIGREE_API_KEY: `pdg_${'x'.repeat(43)}` }).apiKey).toHaveLength(47);
  });
});

describe('pedigree config', () => {
  const SECRETS = [
    'db-word',
    'query-word',
    'client-word',
    'p12-word',
    'key-word-that-is-long-enough',
    'registry-word',
    'control-word',
    'url-word',
  ];

  async function shown(environment: NodeJS.ProcessEnv): Promise<string> {
    let printed = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
    expect(await showConfig(environment)).toBe(0);
    jest.restoreAllMocks();
    return printed;
  }

  it('prints what is in force, and no secret however it was given', async () => {
    const accounts = join(folder.path, 'accounts.json');
    const signer = { kind: 'pkcs12', file: 'main.p12', password: 'p12-word' };
    writeFileSync(
      accounts,
      JSON.stringify([{ name: 'main', client_id: 'client', client_secret: 'client-word', user_id: 'user', signer }]),
    );
    const printed = await shown({
      DATABASE_URL: 'postgres://pedigree:db-word@db.example.test:5432/pedigree?password=query-word&sslmode=require',
      PEDIGREE_ACCOUNTS: accounts,
      PEDIGREE_API_KEY: 'key-word-that-is-long-enough',
      REGISTRY_URL: 'https://user:registry-word@registry.example.test/base',
      REGISTRY_CONTROL_URL: 'http://user:control-word@127.0.0.1:8091',
      PEDIGREE_URL: 'http://user:url-word@127.0.0.1:8080',
    });
    expect(SECRETS.filter((secret) => printed.includes(secret))).toEqual([]);
    expect(JSON.parse(printed)).toMatchObject({
      registryUrl: expect.stringContaining('registry.example.test/base'),
      databaseUrl: expect.stringMatching(/db\.example\.test.*sslmode=require/),
      apiKey: 'set',
      accounts: [{ name: 'main', userId: 'user', signer: 'pkcs12' }],
    });
  });

  it('names the variable when what it points to is wrong', async () => {
    await expect(showConfig({ PEDIGREE_ACCOUNTS: join(folder.path, 'none.json') })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(/^PEDIGREE_ACCOUNTS: .*none\.json/),
    });
    await expect(showConfig({ REGISTRY_PROFILE: 'interface-v9' })).rejects.toThrow(/^REGISTRY_PROFILE: .*interface-v9/);
  });
});
