import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { PedigreeError } from '#kernel';
import { readAccounts } from './accounts.js';
import { BUILT_IN_PROFILES, loadProfile } from './profile.js';

const fieldOf = (work: () => unknown): string | undefined => {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(PedigreeError);
    expect((error as PedigreeError).code).toBe('invalid_configuration');
    return (error as PedigreeError).place.field;
  }
  throw new Error('nothing was refused');
};

describe('loadProfile', () => {
  it.each(BUILT_IN_PROFILES)('takes the built-in %s', (name) => {
    expect(loadProfile(name).name).toBe(name);
  });

  it('has the statuses of the interface in interface-v1 and those of public clients in mdlp', () => {
    expect(loadProfile('interface-v1').statuses).toMatchObject({ PROCESSED: 'processed' });
    expect(loadProfile('interface-v1').operations.list_outgoing.method).toBe('GET');
    expect(loadProfile('mdlp').statuses).toMatchObject({
      PROCESSED_DOCUMENT: 'processed',
      CORE_PROCESSED_DOCUMENT: 'processing',
    });
    expect(loadProfile('mdlp').operations.list_outgoing.method).toBe('POST');
  });

  it("lays an installation's overrides over it, to any depth, without changing the original", () => {
    const profile = loadProfile('mdlp', {
      zone: '+00:00',
      operations: { send: { intervalMs: 700 } },
      statuses: { DONE: 'processed' },
    });
    expect(profile.operations.send).toEqual({ method: 'POST', path: '/documents/send', intervalMs: 700 });
    expect(profile.statuses).toMatchObject({ DONE: 'processed', FAILED: 'failed' });
    expect(loadProfile('mdlp').operations.send.intervalMs).toBe(500);
  });

  it('lets an installation take a built-in status name away', () => {
    const { statuses } = loadProfile('interface-v1', { statuses: { ALL_DONE: 'processed', PROCESSED: null } });
    expect(Object.keys(statuses).filter((name) => statuses[name] === 'processed')).toEqual(['ALL_DONE']);
  });

  it.each([
    [{ operations: { send: { intervalMs: 'soon' } } }, 'profile.operations.send.intervalMs'],
    [{ operations: { sned: { method: 'POST', path: '/x', intervalMs: 1 } } }, 'profile.operations.sned'],
    [{ zone: 'Moscow' }, 'profile.zone'],
    // Receipts and the sandbox know an offset by its colon alone.
    [{ zone: '+0300' }, 'profile.zone'],
    [{ listDateFormat: 'YYYY-QQ' }, 'profile.listDateFormat'],
    [{ statuses: { DONE: 'fine' } }, 'profile.statuses.DONE'],
    [{ fields: { token: '' } }, 'profile.fields.token'],
    [{ rules: { unknownGraceMs: -1 } }, 'profile.rules.unknownGraceMs'],
    [{ basePath: 'api/' }, 'profile.basePath'],
    [{ operations: { status: { path: '/documents/{id}' } } }, 'profile.operations.status.path'],
    [{ operations: { status: { path: '/documents/status' } } }, 'profile.operations.status.path'],
    [{ operations: { send: { path: '/documents/{request_id}' } } }, 'profile.operations.send.path'],
    [{ operations: { upload_part: { path: '/upload' } } }, 'profile.operations.upload_part.path'],
    [{ statuses: { PROCESSED: null } }, 'profile.statuses'],
  ])('names the field that is wrong: %j', (overrides, field) => {
    expect(fieldOf(() => loadProfile('interface-v1', overrides))).toBe(field);
  });

  it('names the profiles there are', () => {
    expect(() => loadProfile('../package')).toThrow('unknown profile "../package"; there are interface-v1 and mdlp');
  });
});

describe('readAccounts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-accounts-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'accounts.json');
  const good = {
    name: 'main',
    client_id: 'c',
    client_secret: 'hush-hush',
    user_id: 'u',
    signer: { kind: 'pkcs12', file: 'keys/main.p12', password: 'pw' },
  };
  const read = (content: unknown): ReturnType<typeof readAccounts> => {
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return readAccounts(file);
  };

  it('finds key files from the folder of the accounts file', () => {
    expect(read([good])).toEqual([
      {
        name: 'main',
        clientId: 'c',
        clientSecret: 'hush-hush',
        userId: 'u',
        signer: { kind: 'pkcs12', file: join(folder, 'keys/main.p12'), password: 'pw' },
      },
    ]);
  });

  it.each([
    [[good, { ...good, name: 'b', client_secret: 7 }], 'accounts[1].client_secret'],
    [[{ ...good, signer: { ...good.signer, kind: 'usb' } }], 'accounts[0].signer.kind'],
    [[{ ...good, clientSecret: 'x' }], 'accounts[0].clientSecret'],
    [[good, good], 'accounts[1].name'],
    [[{ ...good, name: 'a/b' }], 'accounts[0].name'],
    [[], 'accounts'],
    ['{', 'accounts'],
  ])('names index and field: case %#', (content, field) => {
    expect(fieldOf(() => read(content))).toBe(field);
  });

  it('never repeats what the file holds', () => {
    expect(() => read(`[{"client_secret":"hush-hush" oops}]`)).toThrow(/accounts.json is not JSON$/);
    expect(() => read([{ ...good, user_id: '' }])).not.toThrow(/hush-hush/);
    expect(() => readAccounts(join(folder, 'missing.json'))).toThrow(/cannot read .*missing.json \(ENOENT\)/);
  });
});
