import type { LogBreak } from '#proofs';

/** A break of the log, as JSON. */
export const breakAnswer = ({ number, before, differsAtLeaf, toldAt, toldBy, reason, nextOrigin }: LogBreak): object => ({
  number,
  told_at: toldAt.toISOString(),
  told_by: toldBy,
  reason,
  before_size: before.size,
  differs_at_leaf: differsAtLeaf ?? null,
  next_origin: nextOrigin,
});
