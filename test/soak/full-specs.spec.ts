import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { sized } from '../support/sized.js';
import { fullSpecs } from './full-specs.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the specs that the soak runs at their full size', () => {
  it('are those that ask for their size, this one too', () => {
    const { run, left } = fullSpecs(ROOT);
    expect(left).toEqual([]);
    expect(run).toEqual(
      expect.arrayContaining([
        'libs/domain/src/document/interleavings.prop.spec.ts',
        'test/chaos/chaos.int.spec.ts',
        'test/scenarios/single-knobs.int.spec.ts',
        'test/soak/full-specs.spec.ts',
      ]),
    );
    expect(run).not.toContain('test/soak/page.spec.ts');
  });

  it('are fewer in the short soak, which names what it leaves out', () => {
    const [long, short] = [fullSpecs(ROOT), fullSpecs(ROOT, { short: true })];
    expect([...short.run, ...short.left].sort()).toEqual(long.run);
    expect(short.left).toHaveLength(11);
  });

  it('are told which run it is', () => {
    expect(sized({ test: 'npm test', soak: 'soak' })).toBe(
      process.env['PEDIGREE_TEST_SIZE'] === 'soak' ? 'soak' : 'npm test',
    );
  });
});
