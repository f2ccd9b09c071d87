import { basename, dirname } from 'node:path';
import { FolderStore } from '#duckdb';

/** An empty folder for what a snapshot is made of. What a killed process has left in it goes with the next attempt. */
export const draftFor = (snapshot: string): Promise<string> =>
  new FolderStore(dirname(snapshot)).draft(`${basename(snapshot)}.rows`);
