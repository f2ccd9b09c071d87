import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { invalidConfiguration } from '#kernel';
import { newSigningKey } from '#merkle';
import { writeDurably, writeDurablyOnce } from '#service';

/** Where a running `up` can be found by send, document and history. */
interface RunningAddress {
  url: string;
  pid: number;
}

/** The folder of one installation on embedded parts, and the small files in it. */
export class DataDir {
  constructor(readonly path: string) {}

  /** Makes it. A command that only looks into it leaves no folder where it was started. */
  ensure(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o755 });
  }

  /** The key that encrypts tokens at rest; made at the first start. */
  ensureKey(file: string): void {
    if (!existsSync(file)) writeDurablyOnce(file, `${randomBytes(32).toString('hex')}\n`, 0o600);
  }

  /** The auditor's own folder: what it has signed, and its key. */
  get auditorFolder(): string {
    return this.file('auditor');
  }

  /** Where the key is that signs the checkpoints. One that a version before this made stays where it is. */
  auditKey(folder: string): string {
    const earlier = this.file('audit-key.pem');
    return existsSync(earlier) ? earlier : join(folder, 'key.pem');
  }

  /** That key; made at the first start. */
  ensureAuditKey(file: string): void {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (!existsSync(file)) writeDurablyOnce(file, newSigningKey(), 0o600);
  }

  writeAddress(address: RunningAddress): void {
    writeDurably(this.file('running.json'), JSON.stringify(address));
  }

  forgetAddress(): void {
    rmSync(this.file('running.json'), { force: true });
  }

  readAddress(): RunningAddress | undefined {
    return this.read<RunningAddress>('running.json');
  }

  /** When the sample day takes place: fixed at the first feeding, so that a repeat sends the same bytes. */
  sampleDate(now: Date): Date {
    const known = this.read<{ at: string }>('sample.json');
    if (known !== undefined) return new Date(known.at);
    writeDurably(this.file('sample.json'), JSON.stringify({ at: now.toISOString() }));
    return now;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  private read<T>(name: string): T | undefined {
    const file = this.file(name);
    if (!existsSync(file)) return undefined;
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as T;
    } catch (error) {
      throw invalidConfiguration(
        'DATA_DIR',
        `${file} is damaged (${(error as Error).message}); restore it, or remove ${this.path} to begin anew`,
      );
    }
  }
}
