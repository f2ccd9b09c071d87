import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { sized } from '../support/sized.js';
import { fullSpecs } from './full-specs.js';

describe('the specs that the soak runs at their full size', () => {
  it('are those that ask for their size, this one too', () => {
    const paths = fullSpecs(fileURLToPath(new URL('../..', import.meta.url)));
    expect(paths).toEqual(
      expect.arrayContaining([
        'libs/domain/src/document/interleavings.prop.spec.ts',
        'test/chaos/chaos.int.spec.ts',
        'test/scenarios/single-knobs.int.spec.ts',
        'test/soak/full-specs.spec.ts',
      ]),
    );
    expect(paths).not.toContain('test/soak/page.spec.ts');
  });

  it('are told which run it is', () => {
    expect(sized({ test: 'npm test', soak: 'soak' })).toBe(
      process.env['PEDIGREE_TEST_SIZE'] === 'soak' ? 'soak' : 'npm test',
    );
  });
});
