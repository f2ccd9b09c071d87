import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Edit, Mutant } from './mutants.js';

/** What a copy needs to be built and run; its packages are those of the original. */
const COPIED = [
  'apps',
  'libs',
  'test',
  'dist',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/**
 * The text with the change in it. Throws where the text that it replaces is not there exactly once: then the bug must
 * be planted anew by hand.
 */
export function edited(text: string, { file, find, replace }: Edit): string {
  const times = text.split(find).length - 1;
  if (times !== 1) throw new Error(`${file} has this text ${times} times, and not once; plant the bug anew: ${find}`);
  return text.replace(find, () => replace);
}

/** Why each mutant that can no longer be planted cannot. */
export function unplantable(root: string, mutants: Mutant[]): string[] {
  const complaint = (mutant: Mutant): string[] => {
    try {
      plant(mutant, (file) => readFileSync(join(root, file), 'utf8'));
      return [];
    } catch (error) {
      return [`${mutant.name}: ${(error as Error).message}`];
    }
  };
  return mutants.flatMap(complaint);
}

/** The files that the mutant changes, as they are then. */
export function plant({ edits }: Mutant, read: (file: string) => string): Map<string, string> {
  const files = new Map<string, string>();
  for (const edit of edits) files.set(edit.file, edited(files.get(edit.file) ?? read(edit.file), edit));
  return files;
}

/** A copy of the sources in a folder of its own, with the mutant in it, not built yet. */
export function plantedCopy(root: string, mutant: Mutant | undefined): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-mutant-'));
  for (const path of COPIED)
    cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  if (mutant !== undefined)
    for (const [file, text] of plant(mutant, (path) => readFileSync(join(folder, path), 'utf8')))
      writeFileSync(join(folder, file), text);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
}
