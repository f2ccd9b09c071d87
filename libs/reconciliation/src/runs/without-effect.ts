import type { FileRun } from './run-folder.js';

type Asked = Pick<FileRun, 'account' | 'way' | 'registry' | 'freshHours' | 'incremental' | 'unconfirmed'>;

const UNREAD = 'no account is named, so the registry is not read';

/** Where a part of a request changes nothing, beside these others. */
const IDLE = {
  incremental: ({ account, registry }: Asked) =>
    (account === null && UNREAD) ||
    (registry !== null && 'a registry snapshot is named, so nothing of an earlier run is taken over'),
  freshHours: ({ account, way }: Asked) =>
    (account === null && UNREAD) || (way !== 'auto' && `the way is ${way}, and only auto chooses by it`),
  unconfirmed: ({ registry }: Asked) => registry === null && 'no registry snapshot is named',
};

/** The first part of a request that would change nothing, and why. Whoever gave it believes that it does. */
export function withoutEffect(asked: Asked): { part: keyof typeof IDLE; why: string } | undefined {
  for (const part of ['incremental', 'freshHours', 'unconfirmed'] as const) {
    const isGiven = (asked[part] ?? false) !== false;
    const why = isGiven && IDLE[part](asked);
    if (why !== false) return { part, why };
  }
  return undefined;
}
