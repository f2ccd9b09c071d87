import type { MigrationSet } from '#postgres';

export const segmentsSchema: MigrationSet = {
  name: 'segments',
  directory: new URL('./migrations/', import.meta.url),
};
