import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

const STOP_LIMIT_MS = 60_000;
const LAST_WORDS = 2_000;
/** A service manager would start it again after so long. */
const RESTART_MS = 1_000;

export interface ProgramOptions {
  name: string;
  /** Arguments of node. */
  args: string[];
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Told of an end that nobody ordered. */
  died(death: Death): void;
}

export interface Death {
  program: string;
  how: string;
  lastWords: string;
}

/** One of our programs as a process of its own, which the campaign kills, and which must not end by itself. */
export class Program {
  private child: ChildProcess | undefined;
  private expected = false;
  starts = 0;

  constructor(private readonly options: ProgramOptions) {}

  get name(): string {
    return this.options.name;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.alive ? this.child?.pid : undefined;
  }

  start(): void {
    if (this.alive) return;
    const { args, env, logFile, name } = this.options;
    const log = openSync(logFile, 'a');
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.child = child;
    this.expected = false;
    this.starts += 1;
    child.once('exit', (code, signal) => {
      if (this.child !== child || this.expected) return;
      this.options.died({
        program: name,
        how: `exit ${code ?? signal}`,
        lastWords: readFileSync(logFile, 'utf8').slice(-LAST_WORDS),
      });
      setTimeout(() => this.expected || this.start(), RESTART_MS).unref();
    });
  }

  get alive(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** kill -9, in the middle of whatever it does. False when it was not running. */
  async kill(): Promise<boolean> {
    return this.end('SIGKILL');
  }

  /** Frozen: it holds its connections and its leases, and does nothing. */
  pause(): void {
    if (this.alive) this.child?.kill('SIGSTOP');
  }

  resume(): void {
    if (this.alive) this.child?.kill('SIGCONT');
  }

  /** Orderly. Throws when it does not end, or ends badly. */
  async stop(): Promise<void> {
    const child = this.child;
    if (!(await this.end('SIGTERM')) || child?.exitCode === 0) return;
    throw new Error(
      `${this.name} ended with ${child?.exitCode ?? child?.signalCode} when it was told to stop: ` +
        `${readFileSync(this.options.logFile, 'utf8').slice(-LAST_WORDS)}`,
    );
  }

  private async end(signal: NodeJS.Signals): Promise<boolean> {
    const child = this.child;
    if (child === undefined || !this.alive) return false;
    this.expected = true;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await ended;
    clearTimeout(late);
    return true;
  }
}
