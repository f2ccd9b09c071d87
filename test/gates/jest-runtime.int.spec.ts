import { expect, it } from '@jest/globals';
import { repositoryFile } from '../scenarios/built-programs.js';
import { jestInFolder } from './jest-in-folder.js';

const SPEC = `
  import pg from 'pg';
  import { z } from 'zod';
  import { own } from './own.mjs';
  it('adds', () => {
    own.count += 1;
    pg.seenBy = (pg.seenBy ?? 0) + 1;
    console.log('figures:' + JSON.stringify({ own: own.count, library: pg.seenBy }));
  });
  it('meets a library in its own realm', () => {
    expect(new pg.DatabaseError('no', 1, 'error')).toBeInstanceOf(Error);
    expect(z.instanceof(Uint8Array).safeParse(Buffer.from('a')).success).toBe(true);
    expect(() => JSON.parse('{')).toThrow(SyntaxError);
  });
`;

it('a library is loaded once for all files, and our own code for each', async () => {
  const { results, said } = await jestInFolder(
    { 'own.mjs': 'export const own = { count: 0 };', 'a.test.mjs': SPEC, 'b.test.mjs': SPEC },
    {
      testMatch: ['**/*.test.mjs'],
      testEnvironmentOptions: { globalsCleanup: 'off' },
      runtime: repositoryFile('test/gates/jest-runtime.mjs'),
      moduleFileExtensions: ['mjs', 'js', 'json'],
      maxWorkers: 1,
    },
  );
  expect(results).toMatchObject({ numPassedTests: 4, numFailedTests: 0 });
  expect([...said.matchAll(/figures:(.*)/g)].map(([, figures]) => JSON.parse(figures as string) as object)).toEqual([
    { own: 1, library: 1 },
    { own: 1, library: 2 },
  ]);
});
