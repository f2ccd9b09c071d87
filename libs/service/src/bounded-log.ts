import { systemClock, type Clock } from '#kernel';

/** What the frame says while a program runs; pino's loggers fit. */
export interface ServiceLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface BoundedLogOptions {
  /** The same thing is said so often in a window ... */
  mostPerWindow?: number;
  /** ... of so many ms; further repetitions are counted, and the next one that is said carries their number. */
  windowMs?: number;
  clock?: Clock;
}

/**
 * Different things whose repetitions are counted at the same time; past it the one that was begun first is forgotten.
 */
const MOST_KEYS = 500;

/**
 * The same log, in which nothing that repeats itself fills the disk: hundreds of loops that all miss one database say
 * the same thing. Two things are the same when level, message and error are. Whoever must never be shortened logs past
 * it.
 */
export function boundedLog(log: ServiceLog, options: BoundedLogOptions = {}): ServiceLog {
  const { mostPerWindow = 5, windowMs = 60_000, clock = systemClock } = options;
  const known = new Map<string, { sinceMs: number; said: number; kept: number }>();
  const bounded =
    (level: keyof ServiceLog) =>
    (fields: object, message: string): void => {
      const key = `${level} ${message} ${errorOf(fields)}`;
      const nowMs = clock.monotonicMs();
      const before = known.get(key);
      const isNewWindow = before === undefined || nowMs - before.sinceMs >= windowMs;
      const state = isNewWindow ? { sinceMs: nowMs, said: 0, kept: before?.kept ?? 0 } : before;
      if (isNewWindow) {
        known.delete(key);
        known.set(key, state);
        if (known.size > MOST_KEYS) known.delete(known.keys().next().value as string);
      }
      if (state.said >= mostPerWindow) return void (state.kept += 1);
      state.said += 1;
      const repeats = state.kept === 0 ? {} : { notSaidBefore: state.kept };
      state.kept = 0;
      log[level](
        {
          ...fields,
          ...repeats,
          ...(state.said === mostPerWindow ? { repetitions: 'from here on counted only' } : {}),
        },
        message,
      );
    };
  return { info: bounded('info'), warn: bounded('warn'), error: bounded('error') };
}

function errorOf(fields: object): string {
  const { err, error } = fields as { err?: unknown; error?: unknown };
  const shown = err ?? error;
  if (shown === undefined) return '';
  return shown instanceof Error ? `${shown.name}: ${shown.message}` : String(shown);
}
