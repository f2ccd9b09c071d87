import { sentenceOf } from '#service';
import { say } from './print.js';

let goesOn = false;

/**
 * Whoever reads what this process prints may leave (`head`, a terminal that is closed), and what it is written to may
 * be full. A remark is then lost, and no more. Without its results a command is over, with status 1, and silent where
 * somebody chose to leave.
 */
export function endWithReader(): void {
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (goesOn) return;
    if (error.code !== 'EPIPE') say(`pedigree: standard output: ${sentenceOf(error)}`);
    process.exit(1);
  });
}

/** What runs until a signal does so without a reader, and stops in order; what sends sends all. */
export const goOnWithoutReader = (): void => void (goesOn = true);
