import type { TaskHandler } from '#tasks';

/** One lane that this worker serves. */
export interface Lane {
  name: string;
  kinds: Record<string, TaskHandler>;
  /** Handlers at work at the same time. */
  concurrency: number;
  /** Most tasks of one claim. */
  batch?: number;
  /** While this says true nothing new of it is begun. */
  held?: () => Promise<boolean>;
}
