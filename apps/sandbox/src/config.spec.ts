import { describe, expect, it } from '@jest/globals';
import { parseOptions, withDefaults } from './config.js';

describe('options of the sandbox', () => {
  it('come from flags, then from the environment, then from defaults', () => {
    const options = parseOptions(['--port', '8080', '--limits', 'off', '--data', 'd'], { SANDBOX_PORT: '1', SANDBOX_SPEED: '2.5', SANDBOX_CONTROL_PORT: '9' });
    expect(options).toEqual({ port: 8080, limits: false, dataDir: 'd', speed: 2.5, controlPort: 9 });
    expect(withDefaults(options)).toMatchObject({ seed: 1, profile: 'interface-v1', processingMs: 1000 });
  });

  it.each([
    [['--port', '70000'], {}, '--port must be a whole number from 0 to 65535'],
    [['--speed', 'fast'], {}, '--speed must be a number'],
    [[], { SANDBOX_LIMITS: 'maybe' }, 'SANDBOX_LIMITS must be on or off'],
    [[], { SANDBOX_SEED: '1.5' }, 'SANDBOX_SEED must be a whole number'],
    [['--profile', '../secrets'], {}, '--profile must be the name of a profile'],
    [['--product-label', 'ancient'], {}, '--product-label must be one of new, old, both'],
    [[], { SANDBOX_SINGLE_AS: 'text' }, 'SANDBOX_SINGLE_AS must be one of array, object'],
    [['--colour', 'red'], {}, '--colour'],
  ])('name what is wrong: %j %j', (args, environment, message) => {
    expect(() => parseOptions(args, environment)).toThrow(message);
  });
});
