import { expect, it } from '@jest/globals';
import { repositoryFile } from '../scenarios/built-programs.js';
import { jestInFolder } from './jest-in-folder.js';

const SPEC = `
  import pg from 'pg';
  import { z } from 'zod';
  import { pack } from './libs/stock/src/pack.mjs';
  import { own } from './own.mjs';
  it('adds', async () => {
    own.count += 1;
    pack.count += 1;
    pg.seenBy = (pg.seenBy ?? 0) + 1;
    const { series } = await pack.later();
    series.count += 1;
    const figures = { own: own.count, library: pg.seenBy, pack: pack.count, series: series.count };
    console.log('figures:' + JSON.stringify(figures));
  });
  it('meets a library in its own realm', () => {
    expect(new pg.DatabaseError('no', 1, 'error')).toBeInstanceOf(Error);
    expect(z.instanceof(Uint8Array).safeParse(Buffer.from('a')).success).toBe(true);
    expect(() => JSON.parse('{')).toThrow(SyntaxError);
  });
`;
/** Asks Jest for its words, which are those of one file. */
const SUITE = `import { it } from '@jest/globals'; export const contract = (name) => it(name, () => undefined);`;
const FILES = {
  'own.mjs': 'export const own = { count: 0 };',
  'libs/stock/src/pack.mjs': `export const pack = { count: 0, later: () => import('./series.mjs') };`,
  'libs/stock/src/series.mjs': 'export const series = { count: 0 };',
  'libs/stock/src/contract.mjs': SUITE,
};
const run = (specs: Record<string, string>) =>
  jestInFolder(
    { ...FILES, ...specs },
    {
      testMatch: ['**/*.test.mjs'],
      testEnvironmentOptions: { globalsCleanup: 'off' },
      runtime: repositoryFile('test/gates/jest-runtime.mjs'),
      moduleFileExtensions: ['mjs', 'js', 'json'],
      maxWorkers: 1,
    },
  );

it('a library and a module of the programs are loaded once for all files, and what the tests bring for each', async () => {
  const { results, said } = await run({ 'a.test.mjs': SPEC, 'b.test.mjs': SPEC });
  expect(results).toMatchObject({ numPassedTests: 4, numFailedTests: 0 });
  expect([...said.matchAll(/figures:(.*)/g)].map(([, figures]) => JSON.parse(figures as string) as object)).toEqual([
    { own: 1, library: 1, pack: 1, series: 1 },
    { own: 1, library: 2, pack: 2, series: 2 },
  ]);
});

it('a module first imported while a later file runs is loaded by that file', async () => {
  // Jest begins with the longest.
  const padding = ' '.repeat(SPEC.length);
  const first = `import { pack } from './libs/stock/src/pack.mjs'; it('has it', () => expect(pack.count).toBe(0));`;
  const { results } = await run({ 'a.test.mjs': first + padding, 'b.test.mjs': SPEC });
  expect(results).toMatchObject({ numPassedTests: 3, numFailedTests: 0 });
});

it('a suite that lies beside the programs runs for each file', async () => {
  const spec = `import { contract } from './libs/stock/src/contract.mjs'; contract('holds');`;
  const { results } = await run({ 'a.test.mjs': spec, 'b.test.mjs': spec });
  expect(results).toMatchObject({ numPassedTests: 2, numFailedTests: 0, numTotalTests: 2 });
});
