import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryFile } from '../scenarios/built-programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const CLOSING =
  `it('a', (done) => { ` + `const server = require('node:net').createServer().listen(0, () => server.close(done)); });`;
const SPECS: Record<string, string> = {
  closes: CLOSING,
  'leaves-a-timer': `it('a', () => void setInterval(() => undefined, 1000));`,
  'leaves-more':
    `it('a', (done) => void (require('node:child_process').spawn('cat'), ` +
    `require('node:net').createServer().listen(0, '127.0.0.1', done)));`,
  prints: `it('a', () => void (process.stdout.write('a line'), process.stderr.write('a line')));`,
  'z-closes-too': CLOSING,
};

interface Results {
  testResults: { name: string; status: string; message: string }[];
}

it('a file that leaves something open fails, and no other', async () => {
  const { path, remove } = await temporaryFolder();
  try {
    const config = {
      rootDir: path,
      testMatch: ['**/*.test.js'],
      testEnvironment: repositoryFile('test/gates/jest-environment.mjs'),
      transform: {},
      maxWorkers: 2,
    };
    writeFileSync(join(path, 'jest.config.json'), JSON.stringify(config));
    for (const [name, source] of Object.entries(SPECS)) writeFileSync(join(path, `${name}.test.js`), source);
    const output = join(path, 'results.json');
    const args = [
      '--experimental-vm-modules',
      repositoryFile('node_modules/jest/bin/jest.js'),
      '-c',
      join(path, 'jest.config.json'),
      '--json',
      `--outputFile=${output}`,
    ];
    await new Promise((resolve) => execFile(process.execPath, args, { cwd: path, timeout: 120_000 }, resolve));
    const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as Results;
    const failed = testResults
      .filter((one) => one.status === 'failed')
      .map((one) => [basename(one.name, '.test.js'), /left open: ([^.]*)\./.exec(one.message)?.[1]]);
    expect(failed.sort()).toEqual([
      ['leaves-a-timer', '1 Timeout'],
      ['leaves-more', expect.stringMatching(/1 ProcessWrap.*1 TCPServerWrap/)],
    ]);
    expect(testResults).toHaveLength(Object.keys(SPECS).length);
  } finally {
    await remove();
  }
});
