import type { MigrationSet } from '#postgres';

export const webhooksSchema: MigrationSet = {
  name: 'gateway-webhooks',
  directory: new URL('./migrations/', import.meta.url),
};
