import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './mutants.js';
import { edited, plant, unplantable } from './plant.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('the planted bugs', () => {
  it('can all still be planted, each in sources that it changes', () => {
    expect(unplantable(root, MUTANTS)).toEqual([]);
    for (const mutant of MUTANTS) {
      const planted = plant(mutant, (file) => readFileSync(`${root}/${file}`, 'utf8'));
      expect(planted.size).toBeGreaterThan(0);
      for (const [file, text] of planted) expect(text).not.toBe(readFileSync(`${root}/${file}`, 'utf8'));
    }
  });

  it('are refused where their text is gone, or is there twice', () => {
    const edit = { file: 'a.ts', find: 'x > 1', replace: '$& x' };
    expect(edited('if (x > 1)', edit)).toBe('if ($& x)');
    expect(() => edited('if (x > 2)', edit)).toThrow(
      'a.ts has this text 0 times, and not once; plant the bug anew: x > 1',
    );
    expect(() => edited('x > 1 || x > 1', edit)).toThrow('2 times');
    const gone = { name: 'gone', about: '', edits: [{ ...edit, file: 'package.json' }], caughtBy: /x/ };
    expect(unplantable(root, [gone])).toEqual([expect.stringContaining('gone: package.json has this text 0 times')]);
  });

  it('have names of their own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});
