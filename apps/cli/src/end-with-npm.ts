import { readFileSync } from 'node:fs';
import { systemClock } from '#kernel';

const LOOK_EVERY_MS = 500;

/**
 * Started by npm or npx, a long-running command ends when they do: whoever kills npm means the program, and a shell between the two passes no signal on. The
 * end is an ordered one, by SIGTERM to ourselves. Whoever starts a program without npm may leave it running.
 */
export function endWithNpm(env: NodeJS.ProcessEnv): void {
  if (env['npm_command'] === undefined) return;
  const begun = ancestors();
  const watch = async (): Promise<void> => {
    while (ancestors() === begun) await systemClock.wait(LOOK_EVERY_MS);
    process.kill(process.pid, 'SIGTERM');
  };
  void watch();
}

/** The parent, and where the system tells it (Linux) the parent's: npm, or the shell that npm has put between. */
function ancestors(): string {
  const parent = process.ppid;
  return `${parent} ${parentOf(parent) ?? 'unknown'}`;
}

function parentOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // State and parent follow the program's name, which stands in brackets and may hold blanks (proc(5)).
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  } catch {
    return undefined;
  }
}
