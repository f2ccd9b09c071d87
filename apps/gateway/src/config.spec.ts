import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { describeGatewayConfig, gatewayConfig, type GatewayConfig } from './config.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

/** The gateway's configuration on an accounts file of this text. */
function configured(accounts: string, more: NodeJS.ProcessEnv = {}): () => GatewayConfig {
  const file = join(folder.path, 'accounts.json');
  writeFileSync(file, accounts);
  return () => gatewayConfig({ DATABASE_URL: 'postgres://127.0.0.1/x', PEDIGREE_ACCOUNTS: file, ...more });
}

describe('the gateway’s configuration', () => {
  it('has the names of the accounts and nothing else of their file', () => {
    expect(configured('[{"name":"main","client_secret":"very-secret"},{"name":"north"}]')()).toMatchObject({
      accounts: ['main', 'north'],
    });
  });

  it('is shown, and kept in the log, without the passwords of any address', () => {
    const addresses = {
      DATABASE_URL: 'postgres://me:word@db/x',
      EVENTSTORE_URL: 'esdb://me:wo/rd@log:2113',
      AMQP_URL: 'amqp://me:word@bus',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:word@collector/?api-key=word',
    };
    const shown = JSON.stringify(describeGatewayConfig(configured('[{"name":"main"}]', addresses)()));
    expect(shown).not.toMatch(/wo\/?rd/);
    for (const host of ['db', 'log', 'bus', 'collector']) expect(shown).toContain(`***@${host}`);
  });

  it.each([
    ['amqp://me:100%@bus', 'AMQP_URL: in user, password and vhost write % as %25'],
    ['amqp://me%zz:word@bus', 'AMQP_URL: in user, password and vhost write % as %25'],
    ['amqp://me:word@bus/100%', 'AMQP_URL: in user, password and vhost write % as %25'],
    ['amqp://bus', 'AMQP_URL: must name a user, as in amqp://user:password@host'],
  ])('is refused with the broker %s, which nobody could ever connect to, without its password', (url, message) => {
    expect(configured('[{"name":"main"}]', { AMQP_URL: url })).toThrow(
      expect.objectContaining({ code: 'invalid_configuration', message }),
    );
    expect(configured('[{"name":"main"}]', { AMQP_URL: 'amqps://me%40x:100%25@bus/v%2f' })().bus.amqpUrl).toBeDefined();
  });

  it('is refused with accounts or a key that every user of the machine can read', () => {
    const [accounts, key] = [join(folder.path, 'accounts.json'), join(folder.path, 'key')];
    writeFileSync(key, 'ab'.repeat(32), { mode: 0o600 });
    const read = configured('[{"name":"main"}]', { PEDIGREE_KEY_FILE: key });
    const modes = (ofAccounts: number, ofKey: number): void =>
      [
        [folder.path, 0o755],
        [accounts, ofAccounts],
        [key, ofKey],
      ].forEach(([path, mode]) => chmodSync(path as string, mode as number));
    modes(0o644, 0o600);
    expect(read).toThrow(
      /^PEDIGREE_ACCOUNTS: .*every user of this machine can read or change \S+accounts\.json \(mode 0644\)/,
    );
    modes(0o600, 0o604);
    expect(read).toThrow(/^PEDIGREE_KEY_FILE: every user of this machine can read or change \S+key \(mode 0604\)/);
    modes(0o640, 0o600);
    expect(read().accounts).toEqual(['main']);
    chmodSync(folder.path, 0o700);
  });

  it.each([
    ['is not JSON', '[{"name":"main","client_secret":secret}]', /^PEDIGREE_ACCOUNTS: \S+ is not JSON$/],
    ['has no account', '[]', /^PEDIGREE_ACCOUNTS: \S+: /],
    ['names an account by a number', '[{"name":7,"client_secret":"secret"}]', /^PEDIGREE_ACCOUNTS: \S+: .*name/s],
  ])('is refused with an accounts file that %s, and no secret of it is shown', (_what, text, words) => {
    expect(configured(text)).toThrow(words);
    expect(configured(text)).not.toThrow(/secret/);
  });
});
