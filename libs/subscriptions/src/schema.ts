import type { MigrationSet } from '#postgres';

/** The tables of the runner: checkpoints and the states of sagas. */
export const subscriptionsSchema: MigrationSet = {
  name: 'subscriptions',
  directory: new URL('./migrations/', import.meta.url),
};
