import { spawn, type ChildProcess } from 'node:child_process';

export interface ProgramRun {
  /** Program and arguments; no shell is between. */
  command: string[];
  folder: string;
  environment: Record<string, string>;
  stdin: Uint8Array | undefined;
  timeLimitMs: number;
}

const MAX_OUTPUT_BYTES = 1 << 20;
/** The end of what a program says tells most. What was cut begins after anything that could be the rest of a secret. */
const MAX_SAID_BYTES = 1 << 16;
const MAX_TORN_SECRET_BYTES = 3 << 14;

/**
 * Runs an external program once and gives what it wrote on stdout. Always ends within the time limit: then the program
 * is killed, with whatever it started.
 * @throws Error in words: not found, its exit status and the end of its stderr, killed at the limit, too much output.
 */
export function runProgram(run: ProgramRun): Promise<Buffer> {
  const program = run.command[0] as string;
  return new Promise((resolve, reject) => {
    // A process group of its own: a script's children must end with it.
    const child = spawn(program, run.command.slice(1), {
      cwd: run.folder,
      env: run.environment,
      detached: true,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let said = Buffer.alloc(0);
    let saidBytes = 0;
    const stop = (why: string): void => {
      kill(child);
      reject(new Error(why));
    };
    const timer = setTimeout(
      () => stop(`${program} gave no signature within ${run.timeLimitMs} ms and was killed`),
      run.timeLimitMs,
    );
    child.stdout.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > MAX_OUTPUT_BYTES) stop(`${program} wrote more than ${MAX_OUTPUT_BYTES} bytes and was killed`);
      else output.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      saidBytes += chunk.length;
      said = Buffer.concat([said, chunk]).subarray(-MAX_SAID_BYTES);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(
        new Error(
          error.code === 'ENOENT'
            ? `${program} was not found`
            : `${program} cannot be run (${error.code ?? error.message})`,
        ),
      );
    });
    child.once('close', (status, killedBy) => {
      clearTimeout(timer);
      if (status === 0) resolve(Buffer.concat(output));
      else
        reject(
          new Error(
            `${program} ended ${status === null ? `by ${killedBy}` : `with status ${status}`}${wordsOf(saidBytes > said.length ? said.subarray(MAX_TORN_SECRET_BYTES) : said)}`,
          ),
        );
    });
    // A program that does not read its input breaks the pipe; its exit status tells the rest.
    child.stdin.on('error', () => undefined);
    child.stdin.end(run.stdin ?? Buffer.alloc(0));
  });
}

const wordsOf = (said: Buffer): string => (said.length === 0 ? ' and said nothing' : `: ${said.toString('utf8')}`);

function kill(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
