import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sized } from '../support/sized.js';
import { fullSpecs, leftToTheSoak } from './full-specs.js';

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

  it('have those among them that npm test leaves to it, each with a reason, and the short soak has them too', () => {
    const left = leftToTheSoak(ROOT);
    const { run, left: leftByTheShort } = fullSpecs(ROOT, { short: true });
    expect(left).toContain('test/chaos/chaos.int.spec.ts');
    expect(left.filter((path) => !run.includes(path))).toEqual([]);
    expect(leftByTheShort.filter((path) => left.includes(path))).toEqual([]);
    const firstLines = left.map((path) => readFileSync(join(ROOT, path), 'utf8').split('\n')[0]);
    expect(firstLines.filter((line) => !/^\/\/ Left to the soak: .{10,}`npm test` has .+\.$/.test(line ?? ''))).toEqual(
      [],
    );
  });

  it('are told which run it is', () => {
    expect(sized({ test: 'npm test', soak: 'soak' })).toBe(
      process.env['PEDIGREE_TEST_SIZE'] === 'soak' ? 'soak' : 'npm test',
    );
  });
});
