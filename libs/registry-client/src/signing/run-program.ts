import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Readable } from 'node:stream';

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
  const child = start(program, run);
  const lastWords = lastWordsOf(child.stderr);
  const output: Buffer[] = [];
  let outputBytes = 0;
  return new Promise<Buffer>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${program} ${why}`));
    const stop = (why: string): void => {
      kill(child);
      fail(`${why} and was killed`);
    };
    const timer = setTimeout(() => stop(`gave no signature within ${run.timeLimitMs} ms`), run.timeLimitMs);
    child.stdout.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > MAX_OUTPUT_BYTES) stop(`wrote more than ${MAX_OUTPUT_BYTES} bytes`);
      else output.push(chunk);
    });
    child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      fail(code === 'ENOENT' ? 'was not found' : `cannot be run (${code ?? message})`);
    });
    child.once('close', (status, killedBy) => {
      clearTimeout(timer);
      if (status === 0) resolve(Buffer.concat(output));
      else fail(`ended ${status === null ? `by ${killedBy}` : `with status ${status}`}${lastWords()}`);
    });
    // A program that does not read its input breaks the pipe; its exit status tells the rest.
    child.stdin.on('error', () => undefined);
    child.stdin.end(run.stdin ?? Buffer.alloc(0));
  });
}

/** In a process group of its own: a script's children must end with it. */
const start = (program: string, { command, folder, environment }: ProgramRun): ChildProcessWithoutNullStreams =>
  spawn(program, command.slice(1), {
    cwd: folder,
    env: environment,
    detached: true,
    windowsHide: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });

/** Collects the end of what a program says. Where the beginning was cut off, the rest of a torn secret goes as well. */
function lastWordsOf(stream: Readable): () => string {
  let said = Buffer.alloc(0);
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    said = Buffer.concat([said, chunk]).subarray(-MAX_SAID_BYTES);
  });
  return () => {
    const words = bytes > said.length ? said.subarray(MAX_TORN_SECRET_BYTES) : said;
    return words.length === 0 ? ' and said nothing' : `: ${words.toString('utf8')}`;
  };
}

function kill(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
