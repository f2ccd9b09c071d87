export interface ConformanceRow {
  id: string;
  line: number;
  tests: { file: string; name: string }[];
  open: boolean;
}
export interface ConformanceReport {
  rows: number;
  proven: number;
  open: string[];
  findings: { file: string; rule: string; message: string }[];
}
export function conformanceRows(text: string): ConformanceRow[];
export function checkConformance(
  text: string,
  results: { testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[] },
): ConformanceReport;
