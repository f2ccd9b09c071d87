import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryFile } from '../scenarios/built-programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';

export interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { name: string; status: string; message: string }[];
}

/** Runs Jest of its own over these files in a temporary folder, in our environment; with what it said on stderr. */
export async function jestInFolder(
  files: Record<string, string>,
  config: object,
): Promise<{ results: JestResults; said: string }> {
  const { path, remove } = await temporaryFolder();
  try {
    const testEnvironment = repositoryFile('test/gates/jest-environment.mjs');
    const whole = { rootDir: path, testEnvironment, transform: {}, ...config };
    // Without a package.json of its own it would be what a folder above says.
    for (const [name, text] of Object.entries({
      'package.json': '{}',
      ...files,
      'jest.config.json': JSON.stringify(whole),
    }))
      writeFile(join(path, name), text);
    const output = join(path, 'results.json');
    const args = [
      '--experimental-vm-modules',
      repositoryFile('node_modules/jest/bin/jest.js'),
      '-c',
      join(path, 'jest.config.json'),
      '--json',
      `--outputFile=${output}`,
    ];
    const said = await new Promise<string>((resolve) =>
      execFile(process.execPath, args, { cwd: path, timeout: 120_000 }, (_, __, stderr) => resolve(stderr)),
    );
    return { results: JSON.parse(readFileSync(output, 'utf8')) as JestResults, said };
  } finally {
    await remove();
  }
}

function writeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
