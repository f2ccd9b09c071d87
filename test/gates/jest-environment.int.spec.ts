import { basename } from 'node:path';
import { expect, it } from '@jest/globals';
import { jestInFolder } from './jest-in-folder.js';

const CLOSING =
  `it('a', (done) => { ` + `const server = require('node:net').createServer().listen(0, () => server.close(done)); });`;
const SPECS: Record<string, string> = {
  closes: CLOSING,
  'leaves-a-timer': `it('a', () => void setInterval(() => undefined, 1000));`,
  'fails-and-leaves': `it('a test', () => { setTimeout(function later() {}, 600000); throw new Error('no'); });`,
  'leaves-more':
    `it('a', (done) => void (require('node:child_process').spawn('cat'), ` +
    `require('node:net').createServer().listen(0, '127.0.0.1', done)));`,
  prints: `it('a', () => void (process.stdout.write('a line'), process.stderr.write('a line')));`,
  'z-closes-too': CLOSING,
};

it('a file that leaves something open fails, and no other', async () => {
  const files = Object.fromEntries(Object.entries(SPECS).map(([name, source]) => [`${name}.test.js`, source]));
  const {
    results: { testResults },
  } = await jestInFolder(files, { testMatch: ['**/*.test.js'], maxWorkers: 2 });
  const failed = testResults
    .filter((one) => one.status === 'failed')
    .map((one) => [basename(one.name, '.test.js'), /left open: ([^.]*)\./.exec(one.message)?.[1]]);
  expect(failed.sort()).toEqual([
    ['fails-and-leaves', '1 Timeout'],
    ['leaves-a-timer', '1 Timeout'],
    ['leaves-more', expect.stringMatching(/1 ProcessWrap.*1 TCPServerWrap/)],
  ]);
  const said = testResults.map((one) => one.message).join('\n');
  expect(said).toMatch(/a timer of 1000 ms: \(\) => undefined/);
  expect(said).toMatch(/a timer of 600000 ms: later function later\(\)[^]*a test failed before: a test/);
  expect(testResults).toHaveLength(Object.keys(SPECS).length);
});
