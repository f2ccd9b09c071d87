import { readFileSync } from 'node:fs';
import { systemClock } from '#kernel';

const LOOK_EVERY_MS = 500;

/**
 * Started by npm or npx, a long-running command ends when they do: whoever kills npm means the program, and a shell
 * between the two passes no signal on. The end is an ordered one, by SIGTERM to ourselves. Whoever starts a program
 * without npm may leave it running.
 */
export function endWithNpm(env: NodeJS.ProcessEnv): void {
  if (env['npm_command'] === undefined) return;
  const begun = starterOf(process.ppid);
  const watch = async (): Promise<void> => {
    while (starterOf(process.ppid) === begun) await systemClock.wait(LOOK_EVERY_MS);
    process.kill(process.pid, 'SIGTERM');
  };
  void watch();
}

/** A file of /proc about a process; undefined where there is none. */
export type ReadProc = (pid: number, file: 'stat' | 'cmdline') => string | undefined;

const readProc: ReadProc = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
};

/**
 * Who has started us, by our parent: npm itself, or the shell that npm has put between and npm behind it. Npm's own
 * parent does not count: npm may be left running when that goes. Where there is no /proc, the shell gives its place to
 * the command (macOS), and the parent is npm.
 */
export function starterOf(parent: number, read: ReadProc = readProc): string {
  const [program = '', option] = (read(parent, 'cmdline') ?? '').split('\0');
  const isShellOfNpm = /(^|\/)(sh|bash|dash|ash|zsh|busybox)$/.test(program) && option === '-c';
  return isShellOfNpm ? `${parent} of ${parentOf(read(parent, 'stat'))}` : String(parent);
}

/** State and parent follow the program's name, which stands in brackets and may hold blanks (proc(5)). */
const parentOf = (stat: string | undefined): string => stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 'nobody';
