import { PedigreeError } from '#kernel';

export const FOLDER = 'the folder of stock files (RECONCILE_STOCK_FOLDER)';
const TROUBLES: Record<string, string> = {
  ENOENT: `${FOLDER}, or what was in it, is not there`,
  ENOTDIR: `${FOLDER} is not a folder`,
  ENOSPC: `the disk of ${FOLDER} is full`,
  EDQUOT: `the disk of ${FOLDER} is full`,
  EACCES: `the gateway may not write into ${FOLDER}`,
  EPERM: `the gateway may not write into ${FOLDER}`,
  EROFS: `the gateway may not write into ${FOLDER}`,
};

/** What a disk says, for whoever uploads. */
export function inWords(error: unknown): unknown {
  const trouble = TROUBLES[(error as NodeJS.ErrnoException).code ?? ''];
  if (error instanceof PedigreeError || trouble === undefined) return error;
  return new PedigreeError('unavailable', `${trouble}; the upload goes on where it was when that is mended`);
}
