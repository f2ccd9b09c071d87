import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inOrder, LONG } from './jest-order.mjs';

const spec = (path: string, bytes = 1024) => ({ path, bytes });

describe('the order in which specs begin', () => {
  it('has every spec once, and is the same however they came', () => {
    const specs = [
      'test/scenarios/main-job.int.spec.ts',
      'libs/a/src/a.spec.ts',
      'libs/a/src/b.int.spec.ts',
      'test/scenarios/new.int.spec.ts',
    ].map((path) => spec(path));
    const order = inOrder(specs);
    expect([...order].sort()).toEqual(specs.map((one) => one.path).sort());
    expect(inOrder([...specs].reverse())).toEqual(order);
  });

  it('begins with the longest, and puts beside it short ones that together last as long', () => {
    const short = Array.from({ length: 200 }, (_, n) => spec(`libs/a/src/${n}.int.spec.ts`, 4096));
    const order = inOrder([
      ...short,
      spec('test/scenarios/main-job.int.spec.ts'),
      spec('test/scenarios/new.int.spec.ts'),
      spec('test/scenarios/other.int.spec.ts'),
    ]);
    const places = order.flatMap((path, place) => (path.startsWith('test/scenarios/') ? [place] : []));
    expect(order[0]).toBe('test/scenarios/main-job.int.spec.ts');
    expect(places[1]).toBeGreaterThan(10);
    expect(places[2]).toBeLessThan(60);
  });

  it('ends with what is shortest, whichever row is left', () => {
    const long = Array.from({ length: 5 }, (_, n) => spec(`test/scenarios/${n}.int.spec.ts`));
    expect(inOrder([spec('libs/a/src/a.spec.ts'), ...long, spec('test/scenarios/main-job.int.spec.ts')]).at(0)).toBe(
      'test/scenarios/main-job.int.spec.ts',
    );
    expect(
      inOrder([spec('libs/a/src/small.spec.ts', 100), spec('libs/a/src/large.spec.ts', 9_000), ...long]).slice(0, 2),
    ).toEqual(['test/scenarios/0.int.spec.ts', 'libs/a/src/large.spec.ts']);
  });

  it('knows long specs by paths that exist', () => {
    expect(
      Object.keys(LONG).filter((path) => !existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)))),
    ).toEqual([]);
  });
});
