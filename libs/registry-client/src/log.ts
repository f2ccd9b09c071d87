/** What this library says while it runs; pino's loggers fit. No secret is ever among the fields. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: Log = { info: () => undefined, warn: () => undefined };
