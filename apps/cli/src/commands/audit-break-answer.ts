import type { LogBreak } from '#proofs';

/** A break of the log, as JSON. */
export const breakAnswer = (told: LogBreak): object => ({
  number: told.number,
  told_at: told.toldAt.toISOString(),
  told_by: told.toldBy,
  reason: told.reason,
  before_size: told.before.size,
  differs_at_leaf: told.differsAtLeaf ?? null,
  next_origin: told.nextOrigin,
});
