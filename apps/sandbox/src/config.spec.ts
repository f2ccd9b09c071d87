import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { parseOptions, withDefaults } from './config.js';
import { loadProfile } from './profile.js';

describe('options of the sandbox', () => {
  it('come from flags, then from the environment, then from defaults', () => {
    const options = parseOptions(['--port', '8080', '--limits', 'off', '--data', 'd'], {
      SANDBOX_PORT: '1',
      SANDBOX_SPEED: '2.5',
      SANDBOX_CONTROL_PORT: '9',
    });
    expect(options).toEqual({ port: 8080, limits: false, dataDir: 'd', speed: 2.5, controlPort: 9 });
    expect(withDefaults(options)).toMatchObject({ seed: 1, profile: 'interface-v1', processingMs: 1000 });
  });

  it('may stand alone, as a flag or in the environment', () => {
    expect(parseOptions(['--tls', '--port', '1'], {})).toEqual({ tls: true, port: 1 });
    expect(parseOptions([], { SANDBOX_TLS: 'on' })).toEqual({ tls: true });
  });

  it.each([
    [['--profile', 'mdpl'], {}, '"mdpl"; known are interface-v1, mdlp'],
    [['--upload-parts', 'fast'], {}, '--upload-parts must be one of paced, back-to-back'],
    [['--port', '70000'], {}, '--port must be a whole number from 0 to 65535'],
    [['--speed', 'fast'], {}, '--speed must be a number'],
    [[], { SANDBOX_LIMITS: 'maybe' }, 'SANDBOX_LIMITS must be on or off'],
    [[], { SANDBOX_SEED: '1.5' }, 'SANDBOX_SEED must be a whole number'],
    [['--profile', '../secrets'], {}, '--profile must be the name of a profile'],
    [['--product-label', 'ancient'], {}, '--product-label must be one of new, old, both'],
    [['--processing-spread', 'wide'], {}, '--processing-spread must be one of half, full'],
    [['--land-late-ms', '0'], {}, '--land-late-ms must be a whole number from 1'],
    [[], { SANDBOX_SINGLE_AS: 'text' }, 'SANDBOX_SINGLE_AS must be one of array, object'],
    [['--colour', 'red'], {}, '--colour'],
  ])('name what is wrong: %j %j', (args, environment, message) => {
    expect(() => parseOptions(args, environment)).toThrow(message);
  });
});

describe('overrides of the profile', () => {
  let folder: TemporaryFolder;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder.remove());

  const overridden = (overrides: unknown) => {
    const { profileOverrides: file } = parseOptions(['--profile-overrides', join(folder.path, 'overrides.json')], {});
    writeFileSync(file as string, JSON.stringify(overrides));
    return loadProfile('mdlp', file);
  };

  it('rename paths, fields and statuses, and shorten the waits', () => {
    const profile = overridden({
      operations: { send: { path: '/x' } },
      fields: { sgtin: 'pack' },
      statuses: { DONE: 'processed' },
      rules: { statusAfterSendMs: 50, listPollMs: 7 },
    });
    expect(profile.operations['send']).toEqual({ ...loadProfile('mdlp').operations['send'], path: '/x' });
    expect(profile.named({ sgtin: '1', sgtin_status: 'marked', unheard: true })).toEqual({
      pack: '1',
      status: 'marked',
      unheard: true,
    });
    expect([profile.statusName('processed'), profile.statusName('failed')]).toEqual(['DONE', 'FAILED']);
    expect(profile.rules).toMatchObject({ statusAfterSendMs: 50, tokensPerUser: 10 });
    expect(Object.keys(overridden({ statuses: { PROCESSED_DOCUMENT: null } }).statuses)).not.toContain(
      'PROCESSED_DOCUMENT',
    );
  });

  it.each([
    [{ fields: { sgtim: 'pack' } }, /overrides\.json: a profile has no fields\.sgtim/],
    [{ operations: { sent: { path: '/x' } } }, /a profile has no operations\.sent/],
    [{ paths: {} }, /a profile has no paths/],
    [{ rules: { statusAfterSendMs: 'soon' } }, /overrides\.json: .*expected number/s],
    [[], /are a JSON object/],
  ])('are refused where they are wrong: %j', (overrides, message) => {
    expect(() => overridden(overrides)).toThrow(message);
  });
});
