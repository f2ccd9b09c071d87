import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

interface Entry {
  version?: string;
  optionalDependencies?: Record<string, string>;
}

const { packages } = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as { packages: Record<string, Entry> };

/** Where Node looks: beside the package's own dependencies, then in every folder above. */
function isLocked(path: string, name: string): boolean {
  const parts = path === '' ? [] : path.split(/(?:^|\/)node_modules\//).slice(1);
  for (let depth = parts.length; depth >= 0; depth -= 1) {
    const parent = parts.slice(0, depth).map((part) => `node_modules/${part}/`).join('');
    if (packages[`${parent}node_modules/${name}`] !== undefined) return true;
  }
  return false;
}

describe('package-lock.json', () => {
  it('names the packages of every platform: npm ci refuses it everywhere when one is missing', () => {
    const optional = Object.entries(packages).flatMap(([path, entry]) => Object.keys(entry.optionalDependencies ?? {}).map((name) => ({ path, name })));
    expect(optional.length).toBeGreaterThan(10);
    expect(optional.filter(({ path, name }) => !isLocked(path, name)).map(({ name }) => name)).toEqual([]);
  });
});
