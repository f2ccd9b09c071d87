import { existsSync, readFileSync } from 'node:fs';

/** Version of this software, as package.json says it: part of every event. */
export const SOFTWARE_VERSION = readVersion();

function readVersion(): string {
  // The file lies at another depth beside the source than beside the build.
  for (let folder = new URL('./', import.meta.url), up = 0; up < 8; folder = new URL('../', folder), up += 1) {
    const file = new URL('package.json', folder);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  throw new Error('package.json not found above the program');
}
