import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes a file so that a crash at any moment leaves the old or the new: 1. under another name; 2. forced to the disk;
 * 3. renamed; 4. the folder forced to the disk.
 */
export function writeDurably(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  const unnamed = `${file}.${process.pid}`;
  const descriptor = openSync(unnamed, 'w', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(unnamed, file);
  syncFolder(folder);
}

function syncFolder(path: string): void {
  // Windows opens no folder, and its rename needs none of this.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
