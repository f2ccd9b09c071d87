/** Makes of a command, which returns its exit status, what commander calls with the command's arguments and options. */
export type Action = <Args extends unknown[]>(
  run: (...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;
