import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/**
 * Several times what the longest file takes on a machine with other things to do. In the soak specs have their full
 * size.
 */
const MOST_MINUTES = process.env.PEDIGREE_TEST_SIZE === 'soak' ? 40 : 12;

/**
 * Ends a run in which a file does not end, and names it. The time limits of Jest are those of the worker that runs the
 * file: they say nothing of a test that loops without a pause.
 */
export default class EndlessFiles {
  running = new Map();

  constructor(_config, { mostMs = MOST_MINUTES * 60_000, giveUp = () => process.exit(1) } = {}) {
    this.mostMs = mostMs;
    this.giveUp = giveUp;
  }

  onTestFileStart({ path }) {
    this.running.set(
      path,
      setTimeout(() => this.end(path), this.mostMs),
    );
  }

  onTestFileResult({ path }) {
    clearTimeout(this.running.get(path));
    this.running.delete(path);
  }

  onRunComplete() {
    for (const timer of this.running.values()) clearTimeout(timer);
  }

  end(path) {
    process.stderr.write(`${relative(ROOT, path)} does not end: it has run for ${this.mostMs / 60_000} minutes\n`);
    this.giveUp();
  }
}
