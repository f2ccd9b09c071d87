import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

/** docs/tamperings.md names tests by their words: each must be there, and each tampering of those tests on the page. */
const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

const sections = read('docs/tamperings.md')
  .split(/^## /mu)
  .slice(1)
  .map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    specs: [...text.matchAll(/`([\w/-]+(?:\.(?:int|prop))*\.spec\.ts)`/gu)].map(([, path]) => path as string),
    rows: [...text.matchAll(/^\| (?!What |---)([^|]+) \|/gmu)].map(([, row]) => row as string),
  }))
  .filter(({ rows }) => rows.length > 0);
const rows = sections.flatMap(({ rows: own }) => own);

describe('the page of tamperings', () => {
  it.each(sections)('names tests that are there: $title', ({ specs, rows: named }) => {
    const tests = specs.map(read).join('\n');
    expect(specs).not.toEqual([]);
    expect(named.filter((row) => !tests.includes(`'${row}'`))).toEqual([]);
  });

  it.each([
    ['apps/auditor/src/memory/tampering.int.spec.ts', /\bwhat: '([^']+)'/gu],
    ['apps/auditor/src/sweep/tampering-log.int.spec.ts', /^ {2}\[\s*'([^']+)',/gmu],
    ['apps/auditor/src/sweep/counts-check.int.spec.ts', /^ {4}\[\s*'([^']+)',/gmu],
  ])('names every tampering of %s', (spec, pattern) => {
    const done = [...read(spec).matchAll(pattern)].map(([, name]) => name as string);
    expect(done.length).toBeGreaterThan(5);
    expect(done.filter((name) => !rows.includes(name))).toEqual([]);
  });

  it('has more than thirty', () => {
    expect(new Set(rows).size).toBeGreaterThan(30);
  });
});
