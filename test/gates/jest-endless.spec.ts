import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import EndlessFiles from './jest-endless.mjs';

const LIMIT_MS = 60_000;
const [quick, slow] = [{ path: '/tree/quick.spec.ts' }, { path: '/tree/slow.spec.ts' }];

let said: string;
let hasGivenUp: boolean;
let files: EndlessFiles;
beforeEach(() => {
  jest.useFakeTimers();
  [said, hasGivenUp] = ['', false];
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => (said += String(text)).length > 0);
  files = new EndlessFiles({}, { mostMs: LIMIT_MS, giveUp: () => (hasGivenUp = true) });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a spec that does not end', () => {
  it('is named, and ends the run', () => {
    for (const file of [quick, slow]) files.onTestFileStart(file);
    files.onTestFileResult(quick);
    jest.advanceTimersByTime(LIMIT_MS - 1);
    expect({ said, hasGivenUp }).toEqual({ said: '', hasGivenUp: false });
    jest.advanceTimersByTime(1);
    expect(said).toMatch(/slow\.spec\.ts does not end: it has run for 1 minutes\n$/);
    expect(said).not.toContain('quick');
    expect(hasGivenUp).toBe(true);
  });

  it('is none of those that ended, nor is one when the run was over', () => {
    files.onTestFileStart(quick);
    files.onTestFileResult(quick);
    files.onTestFileStart(slow);
    files.onRunComplete();
    jest.advanceTimersByTime(2 * LIMIT_MS);
    expect({ said, hasGivenUp }).toEqual({ said: '', hasGivenUp: false });
  });
});
