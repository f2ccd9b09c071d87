import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#kernel';

const STOP_LIMIT_MS = 40_000;
const POLL_MS = 100;

export interface Place {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Where the shell keeps what it is given to run. */
  folder: string;
}

/** What a command said, and the status of the last one that did not end with 0. */
export interface Said {
  status: number;
  output: string;
}

/** A terminal at which a reader types: folder and variables stay from one block to the next. */
export class Shell {
  private readonly child: ChildProcess;
  private output = '';
  private blocks = 0;
  private ended = false;

  constructor(private readonly place: Place) {
    this.child = spawn('bash', ['--noprofile', '--norc'], {
      cwd: place.cwd,
      env: place.env,
      stdio: 'pipe',
      detached: true,
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (text: Buffer) => (this.output += text.toString()));
    this.child.once('close', () => (this.ended = true));
  }

  /**
   * Types a block and waits for its end. One that takes longer than `limitMs` has the status 124, and the shell is at
   * its end.
   */
  async type(text: string, limitMs: number): Promise<Said> {
    const file = join(this.place.folder, `block-${(this.blocks += 1)}.sh`);
    const mark = `end-of-block-${this.blocks}`;
    writeFileSync(file, text);
    const from = this.output.length;
    this.child.stdin?.write(
      `__status=0; trap '__status=$?' ERR; . '${file}' < /dev/null; trap - ERR; printf '\\n${mark} %s\\n' ` +
        '"$__status"\n',
    );
    const end = new RegExp(`\\n${mark} (\\d+)\\n`);
    for (let waitedMs = 0; waitedMs < limitMs && !this.ended; waitedMs += POLL_MS) {
      const found = end.exec(this.output.slice(from));
      if (found !== null) return { status: Number(found[1]), output: this.output.slice(from, from + found.index) };
      await systemClock.wait(POLL_MS);
    }
    return { status: 124, output: this.output.slice(from) };
  }

  async stop(): Promise<void> {
    await endGroup(this.child);
  }
}

/** A program that stays up in a terminal of its own. */
export class Terminal {
  private readonly child: ChildProcess;
  output = '';

  constructor(text: string, { cwd, env }: Place) {
    this.child = spawn('bash', ['--noprofile', '--norc', '-c', text], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (part: Buffer) => (this.output += part.toString()));
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until it has said `text`; false when it ended before, or did not say it in time. */
  async says(text: string, limitMs: number): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < limitMs; waitedMs += POLL_MS) {
      if (this.output.includes(text)) return true;
      if (!this.alive) return false;
      await systemClock.wait(POLL_MS);
    }
    return false;
  }

  /** As Ctrl-C does, for the whole group. */
  async stop(): Promise<void> {
    await endGroup(this.child, 'SIGINT');
  }
}

async function endGroup(child: ChildProcess, name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'close');
  signalGroup(child.pid, name);
  const hard = setTimeout(() => signalGroup(child.pid as number, 'SIGKILL'), STOP_LIMIT_MS);
  await gone;
  clearTimeout(hard);
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // It is gone.
  }
}
