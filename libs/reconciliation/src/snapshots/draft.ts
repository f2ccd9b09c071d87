import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Does work in a folder of its own beside the snapshot that it makes, and removes the folder. With the snapshot there,
 * what killed processes have left of theirs goes too. Two that make one snapshot at once share nothing.
 */
export async function withDraft<T>(snapshot: string, work: (folder: string) => Promise<T>): Promise<T> {
  const [parent, prefix] = [dirname(snapshot), `${basename(snapshot)}.rows-`];
  await mkdir(parent, { recursive: true });
  const own = await mkdtemp(join(parent, prefix));
  const left = [basename(own)];
  try {
    const made = await work(own);
    left.push(...(await readdir(parent)).filter((name) => name.startsWith(prefix)));
    return made;
  } finally {
    for (const name of left) await rm(join(parent, name), { recursive: true, force: true });
  }
}
