import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfFile } from '#duckdb';
import type { Clock, Sha256 } from '#kernel';

/** A file that nobody writes any more. */
export interface SettledFile {
  name: string;
  path: string;
  bytes: number;
  modifiedAt: Date;
  sha256: Sha256;
}

/** A file that nobody can compare, and why. */
export interface UnreadableFile {
  name: string;
  why: string;
}

/** Files that are looked at, those that changed last; more are not, and that is said. */
const MOST_FILES = 1_000;
/** Names of files that are being written, by the habits of programs that copy. */
const UNFINISHED = /^\.|\.(part|partial|tmp|temp|filepart|crdownload)$|~$/i;

interface Seen {
  /** Changes whenever the file does, as far as its size and times tell. */
  mark: string;
  sinceMs: number;
  sha256?: Sha256;
}

/**
 * A folder into which another program puts files. It is only read: nothing is moved, renamed or removed. A file is
 * settled when size, times and inode have been the same for `settledMs` by our clock, and are so still after its bytes
 * were read.
 */
export class StockFolder {
  private readonly seen = new Map<string, Seen>();

  constructor(
    private readonly folder: string,
    private readonly settledMs: number,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Settled files by name, those that cannot be read, and how many were not looked at. */
  async look(): Promise<{ settled: SettledFile[]; unreadable: UnreadableFile[]; tooMany: number }> {
    const names = (await readdir(this.folder, { withFileTypes: true })).filter(isCandidate).map(({ name }) => name);
    for (const name of this.seen.keys()) if (!names.includes(name)) this.seen.delete(name);
    const [settled, unreadable]: [SettledFile[], UnreadableFile[]] = [[], []];
    for (const name of await this.newest(names)) {
      try {
        const file = await this.lookAt(name);
        if (file !== undefined) settled.push(file);
      } catch (error) {
        // One that is closed to us, or is gone just now, keeps no other back.
        unreadable.push({ name, why: (error as Error).message });
      }
    }
    return { settled, unreadable, tooMany: Math.max(0, names.length - MOST_FILES) };
  }

  /** Those that changed last, by name: old files that nobody removes keep no new one out. */
  private async newest(names: string[]): Promise<string[]> {
    if (names.length <= MOST_FILES) return names.sort();
    const files: { name: string; changedMs: number }[] = [];
    for (const name of names) files.push({ name, changedMs: (await markOf(join(this.folder, name)))?.changedMs ?? 0 });
    files.sort((a, b) => b.changedMs - a.changedMs);
    return files
      .slice(0, MOST_FILES)
      .map(({ name }) => name)
      .sort();
  }

  private async lookAt(name: string): Promise<SettledFile | undefined> {
    const path = join(this.folder, name);
    const now = await markOf(path);
    if (now === undefined && name.includes('\ufffd')) throw new Error('its name is not UTF-8: rename it');
    const before = this.seen.get(name);
    if (now === undefined || before?.mark !== now.mark) {
      if (now !== undefined) this.seen.set(name, { mark: now.mark, sinceMs: this.clock.monotonicMs() });
      return undefined;
    }
    if (this.clock.monotonicMs() - before.sinceMs < this.settledMs) return undefined;
    before.sha256 ??= (await digestOfFile(path)).sha256;
    if ((await markOf(path))?.mark !== now.mark) {
      this.seen.delete(name);
      return undefined;
    }
    return { name, path, bytes: now.bytes, modifiedAt: now.modifiedAt, sha256: before.sha256 };
  }
}

const isCandidate = (entry: Dirent): boolean => entry.isFile() && !UNFINISHED.test(entry.name);

interface Mark {
  mark: string;
  bytes: number;
  modifiedAt: Date;
  /** When it came, or was written or renamed: no program sets that. */
  changedMs: number;
}

async function markOf(path: string): Promise<Mark | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const { size, mtimeMs, ctimeMs, ino, mtime } = found;
  return { mark: [size, mtimeMs, ctimeMs, ino].join(' '), bytes: size, modifiedAt: mtime, changedMs: ctimeMs };
}
