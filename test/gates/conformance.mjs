/**
 * Holds docs/conformance.md against what Jest found: a row is proven when each test that it names exists and passed. A
 * skipped test proves nothing, and is said. Pure; the run hands over the table's text and Jest's results.
 */

const ROW = /^\|\s*(?<id>\d+(?:\.\d+)*[a-z]?)\s*\|/;
const TEST = /`([^`]+?\.spec\.ts) › ([^`]+)`/g;

/**
 * @param {string} text of docs/conformance.md
 * @returns {{ id: string, line: number, tests: { file: string, name: string } [], open: boolean }[]} one for each row
 *   of its tables
 */
export function conformanceRows(text) {
  return text.split('\n').flatMap((line, i) => {
    const id = ROW.exec(line)?.groups?.id;
    if (id === undefined) return [];
    const tests = [...line.matchAll(TEST)].map(([, file, name]) => ({ file, name }));
    return [{ id, line: i + 1, tests, open: /\bnot built yet\b/.test(line) }];
  });
}

/**
 * @param {string} text of docs/conformance.md
 * @param {{ testResults: { name: string, assertionResults: { fullName: string, status: string } [] }[] }} results
 *   Jest's `--json` of a whole run
 * @returns {{ rows: number, proven: number, open: string[], findings: { file: string, rule: string, message: string }
 *   [] }}
 */
export function checkConformance(text, results) {
  const statuses = new Map();
  for (const suite of results.testResults)
    for (const test of suite.assertionResults) statuses.set(`${slashed(suite.name)}\n${test.fullName}`, test.status);
  const statusOf = ({ file, name }) => {
    for (const [key, status] of statuses) {
      const [path, fullName] = key.split('\n');
      if (path.endsWith(`/${file}`) && fullName === name) return status;
    }
    return 'missing';
  };
  const rows = conformanceRows(text);
  const findings = rows.length === 0 ? [finding('no-rows', 'the table has no rows')] : [];
  for (const row of rows) {
    const where = `row ${row.id}, line ${row.line}`;
    if (row.tests.length === 0 && !row.open)
      findings.push(finding('row-without-test', `${where}: names no test, and does not say "not built yet"`));
    for (const test of row.tests) {
      const status = statusOf(test);
      if (status !== 'passed')
        findings.push(finding('test-not-passed', `${where}: ${test.file} › ${test.name}: ${status}`));
    }
  }
  const open = rows.filter((row) => row.open).map((row) => row.id);
  return { rows: rows.length, proven: rows.length - open.length, open, findings };
}

const slashed = (path) => path.replaceAll('\\', '/');
const finding = (rule, message) => ({ file: 'docs/conformance.md', rule: `conformance/${rule}`, message });
