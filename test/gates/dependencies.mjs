import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CRUISER = fileURLToPath(
  new URL('../../node_modules/dependency-cruiser/bin/dependency-cruise.mjs', import.meta.url),
);
const CONFIG = fileURLToPath(new URL('../../.dependency-cruiser.mjs', import.meta.url));
const MOST_OUTPUT_BYTES = 256 * 1024 * 1024;

/** The gate `dependencies`: who imports whom, as .dependency-cruiser.mjs says. */
export async function check(root) {
  const args = [CRUISER, '--config', CONFIG, '--output-type', 'json', '--no-progress', 'apps', 'libs', 'test'];
  // The json reporter always ends with status 0: what was found is in its output.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: MOST_OUTPUT_BYTES });
  const { modules, summary } = JSON.parse(stdout);
  return {
    files: modules.map((module) => module.source).filter((path) => /^(apps|libs|test)\//.test(path)),
    findings: summary.violations.map((violation) => ({
      rule: violation.rule.name,
      file: violation.from,
      message: `-> ${violation.to}`,
    })),
  };
}
