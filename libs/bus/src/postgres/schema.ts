import type { MigrationSet } from '#postgres';

/** The tables of the embedded bus. */
export const busSchema: MigrationSet = { name: 'bus', directory: new URL('./migrations/', import.meta.url) };
