import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ANSWERS_INDEX, REFUSED } from '../snapshots/manifest.js';

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

/**
 * Whether a registry snapshot is a list of all packs of ours that was read page by page: not of an export, nor of a
 * file of a person, and no row of it was refused.
 */
export async function isWholeList(folder: string): Promise<boolean> {
  const lines = (await textOf(join(folder, ANSWERS_INDEX))).split('\n').filter((line) => line !== '');
  const phases = new Set(lines.map((line) => (JSON.parse(line) as { phase: string }).phase));
  return phases.has('filter') && !phases.has('export_file') && (await textOf(join(folder, REFUSED))) === '';
}
