import { describe, expect, it } from '@jest/globals';
import { countJest } from './jest-run.mjs';

const ended = { status: 0, signal: null };
const results = (numbers: object, tests: { status: string; fullName: string }[] = []) => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numRuntimeErrorTestSuites: 0,
  numTotalTests: 1,
  testResults: [{ assertionResults: tests }],
  ...numbers,
});

describe('what a run of Jest amounts to', () => {
  it('is its tests when all went well', () => {
    expect(countJest(results({ numPassedTests: 3 }), ended)).toEqual({
      passed: 3,
      failed: 0,
      failures: [],
      skipped: [],
      remarks: [],
    });
  });

  it('names what failed, with the first lines of the reason', () => {
    const suite = (over: object) => ({
      name: `${process.cwd()}/libs/a.spec.ts`,
      status: 'failed',
      message: '',
      ...over,
    });
    const failure = {
      status: 'failed',
      fullName: 'a promise',
      failureMessages: ['\u001b[31mno\u001b[0m\n\n1\n2\n3\n4'],
    };
    const testResults = [
      suite({ assertionResults: [{ status: 'passed', fullName: 'another' }, failure] }),
      suite({ message: '  ● Test suite failed to run\n\n    left open', assertionResults: [] }),
      suite({ status: 'passed', assertionResults: [] }),
    ];
    expect(countJest({ ...results({ numFailedTests: 1 }), testResults }, ended).failures).toEqual([
      'libs/a.spec.ts: a promise: no\n    1\n    2\n    3',
      'libs/a.spec.ts:   ● Test suite failed to run\n        left open',
    ]);
  });

  it('names the tests that did not run', () => {
    const tests = [
      { status: 'passed', fullName: 'ran' },
      { status: 'pending', fullName: 'needs an engine' },
      { status: 'todo', fullName: 'some day' },
    ];
    expect(countJest(results({ numPassedTests: 1 }, tests), ended).skipped).toEqual(['needs an engine', 'some day']);
  });

  it('counts a suite that could not be loaded', () => {
    expect(
      countJest(results({ numPassedTests: 3, numRuntimeErrorTestSuites: 1 }), { status: 1, signal: null }).failed,
    ).toBe(1);
  });

  it('fails when Jest wrote no results', () => {
    expect(countJest(undefined, { status: 1, signal: null }).failed).toBe(1);
    expect(countJest(undefined, { status: null, signal: 'SIGKILL' }).remarks).toEqual([
      'Jest ended with SIGKILL and no results',
    ]);
  });

  it('fails when there was no test', () => {
    expect(countJest(results({ numTotalTests: 0 }), ended).failed).toBe(1);
  });

  it('fails when Jest is unhappy for a reason of its own', () => {
    expect(countJest(results({ numPassedTests: 3 }), { status: 1, signal: null }).failed).toBe(1);
  });

  it('fails when Jest did not end', () => {
    const { failed, remarks } = countJest(results({ numPassedTests: 3 }), {
      status: null,
      signal: 'SIGKILL',
      stuck: 'Jest did not end',
    });
    expect(failed).toBe(1);
    expect(remarks).toEqual(['Jest did not end']);
  });
});
