/**
 * Derived data in files: DuckDB for one job within limits, sets of files that appear whole, digests over rows. Promise:
 * a job leaves nothing behind and fetches nothing from outside; a set is there with all of its bytes or not at all; a
 * digest says what rows hold and not how they are stored. Proven in: duckdb.int.spec.ts.
 */
export { bytesOfFile } from './bytes-of-file.js';
export { Duck, listed, parquet, quoted, type DuckOptions } from './duck.js';
export { digestOfLines, rowsDigest, writeLines } from './digest.js';
export { digestOfFile, FolderStore, type FileStore, type StoredFile } from './file-store.js';
