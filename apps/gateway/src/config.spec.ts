import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { gatewayConfig } from './config.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

/** The gateway's configuration on an accounts file of this text. */
function configured(accounts: string): () => unknown {
  const file = join(folder.path, 'accounts.json');
  writeFileSync(file, accounts);
  return () => gatewayConfig({ DATABASE_URL: 'postgres://127.0.0.1/x', PEDIGREE_ACCOUNTS: file });
}

describe('the gateway’s configuration', () => {
  it('has the names of the accounts and nothing else of their file', () => {
    expect(configured('[{"name":"main","client_secret":"very-secret"},{"name":"north"}]')()).toMatchObject({ accounts: ['main', 'north'] });
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
