import { describe, expect, it } from '@jest/globals';
import { checkConformance, conformanceRows } from './conformance.mjs';

const row = (id: string, proof: string) => `| ${id} | the statement | the client | the sandbox | ${proof} |`;
const table = (...rows: string[]) =>
  ['# Conformance', '', '| No | Statement | Client | Sandbox | Shown by |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
const results = (tests: Record<string, string>) => ({
  testResults: [
    {
      name: '/anywhere/libs/a/src/a.spec.ts',
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    },
  ],
});
const rulesOf = (text: string, tests: Record<string, string>) =>
  checkConformance(text, results(tests)).findings.map((one) => one.rule);

describe('the conformance table', () => {
  it('reads rows with all the tests they name', () => {
    const text = table(
      row('2.1', '`libs/a/src/a.spec.ts › a does b`, `libs/a/src/a.spec.ts › a does c`'),
      row('8.3a', 'not built yet'),
    );
    expect(conformanceRows(text)).toEqual([
      {
        id: '2.1',
        line: 5,
        tests: [
          { file: 'libs/a/src/a.spec.ts', name: 'a does b' },
          { file: 'libs/a/src/a.spec.ts', name: 'a does c' },
        ],
        open: false,
      },
      { id: '8.3a', line: 6, tests: [], open: true },
    ]);
  });

  it('is content when every named test passed, and counts what is not built yet', () => {
    const text = table(row('1', '`libs/a/src/a.spec.ts › a does b`'), row('2', 'not built yet'));
    expect(checkConformance(text, results({ 'a does b': 'passed' }))).toEqual({
      rows: 2,
      proven: 1,
      open: ['2'],
      findings: [],
    });
  });

  it.each([
    [
      'a test that failed',
      table(row('1', '`libs/a/src/a.spec.ts › a does b`')),
      { 'a does b': 'failed' },
      'conformance/test-not-passed',
    ],
    [
      'a skipped test',
      table(row('1', '`libs/a/src/a.spec.ts › a does b`')),
      { 'a does b': 'pending' },
      'conformance/test-not-passed',
    ],
    [
      'a test that does not exist',
      table(row('1', '`libs/a/src/a.spec.ts › a does d`')),
      { 'a does b': 'passed' },
      'conformance/test-not-passed',
    ],
    [
      'a test of another file',
      table(row('1', '`libs/b/src/a.spec.ts › a does b`')),
      { 'a does b': 'passed' },
      'conformance/test-not-passed',
    ],
    ['a row without a test', table(row('1', 'looked at')), { 'a does b': 'passed' }, 'conformance/row-without-test'],
    ['a table without rows', table(), { 'a does b': 'passed' }, 'conformance/no-rows'],
  ])('fails on %s', (_what, text, tests, rule) => {
    expect(rulesOf(text, tests as Record<string, string>)).toEqual([rule]);
  });
});
