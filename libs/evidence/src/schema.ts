import type { MigrationSet } from '#postgres';

/** The table of this library: evidence. */
export const evidenceSchema: MigrationSet = { name: 'evidence', directory: new URL('./migrations/', import.meta.url) };
