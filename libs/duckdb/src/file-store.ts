import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sha256 } from '#kernel';
import { bytesOfFile } from './bytes-of-file.js';

/** A file of a set, as its manifest names it. */
export interface StoredFile {
  name: string;
  bytes: number;
  sha256: Sha256;
}

/** Large derived files, in sets that appear whole or not at all. */
export interface FileStore {
  /** An empty folder on the same disk, for files that are being written: no other draft shares it. */
  draft(set: string): Promise<string>;
  /**
   * Makes the files of a draft durable, and then the set. A set of this name that was there is replaced, or it fails
   * where `isNew` is wanted. Other drafts of the set go: those of killed processes, and of whoever makes the same.
   */
  keep(set: string, draft: string, options?: { isNew?: boolean }): Promise<StoredFile[]>;
  /** Where a file of a set lies, for readers. */
  path(set: string, name: string): string;
  /** Names of all sets. */
  sets(): Promise<string[]>;
  /** What is wrong with the files of a set; undefined when all is as the manifest says. `deep` reads every byte. */
  fault(set: string, manifest: readonly StoredFile[], options: { deep: boolean }): Promise<string | undefined>;
  remove(set: string): Promise<void>;
  /** What killed processes have left; only for whoever alone makes sets here. */
  removeDrafts(): Promise<void>;
}

const DRAFT = '.draft';
/** Before drafts had a folder each, their names ended here. */
const IS_DRAFT = /\.draft(-\w+)?$/;

/** A file store in a folder. The crash order of `keep` is written at each step. */
export class FolderStore implements FileStore {
  constructor(private readonly folder: string) {}

  async draft(set: string): Promise<string> {
    // Not by mkdtemp: what becomes a set is for all whom the umask lets read it.
    const draft = join(this.folder, `${set}${DRAFT}-${randomUUID().slice(0, 8)}`);
    await mkdir(this.folder, { recursive: true });
    await mkdir(draft);
    return draft;
  }

  async keep(set: string, draft: string, { isNew = false }: { isNew?: boolean } = {}): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    for (const name of (await readdir(draft)).sort()) {
      await sync(join(draft, name));
      files.push({ name, ...(await digestOfFile(join(draft, name))) });
    }
    // A crash up to here leaves a draft, which goes when the set is made.
    await sync(draft);
    if (!isNew) await this.remove(set);
    // A crash here leaves neither set nor row, or a row without files, which the sweep tells and mends.
    await rename(draft, join(this.folder, set));
    await sync(this.folder);
    await this.removeAll((name) => name.startsWith(set + DRAFT));
    return files;
  }

  path(set: string, name: string): string {
    return join(this.folder, set, name);
  }

  async sets(): Promise<string[]> {
    return (await namesIn(this.folder)).filter((name) => !IS_DRAFT.test(name)).sort();
  }

  async fault(set: string, manifest: readonly StoredFile[], { deep }: { deep: boolean }): Promise<string | undefined> {
    for (const file of manifest) {
      const path = this.path(set, file.name);
      const fault = await faultIn(path, file, deep).catch(({ code }: NodeJS.ErrnoException) =>
        code === 'ENOENT' ? 'is missing' : `cannot be read: ${code}`,
      );
      if (fault !== undefined) return `${path} ${fault}`;
    }
    return undefined;
  }

  async remove(set: string): Promise<void> {
    await rm(join(this.folder, set), { recursive: true, force: true });
  }

  removeDrafts(): Promise<void> {
    return this.removeAll((name) => IS_DRAFT.test(name));
  }

  private async removeAll(isMeant: (name: string) => boolean): Promise<void> {
    for (const name of (await namesIn(this.folder)).filter(isMeant)) await this.remove(name);
  }
}

async function faultIn(
  path: string,
  { bytes, sha256 }: Omit<StoredFile, 'name'>,
  deep: boolean,
): Promise<string | undefined> {
  const { size } = await stat(path);
  if (size !== bytes) return `has ${size} bytes instead of ${bytes}`;
  return deep && (await digestOfFile(path)).sha256 !== sha256 ? `has another SHA-256 than ${sha256}` : undefined;
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Length and SHA-256 of a file. */
export async function digestOfFile(path: string): Promise<{ bytes: number; sha256: Sha256 }> {
  const hash = createHash('sha256');
  for await (const bytes of bytesOfFile(path)) hash.update(bytes);
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}

/** Of a file or a folder: what was written is on the disk. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
