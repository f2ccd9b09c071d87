import { z } from 'zod';

const rate = z.number().min(0).max(1);

/**
 * What simulated participants do by themselves; shares of 1, by seed. What is left of a shipment's shares stays silent.
 */
export const counterpartyShape = z.strictObject({
  /** The awaited side accepts all of our shipment or reverse order (701). */
  accept: rate,
  /** It accepts a part of it and refuses the rest (701, then 252 or 251). */
  part: rate,
  /** It refuses: 252 by a receiver, 251 by a shipper. */
  refuse: rate,
  /** After each document of ours: a supplier ships to us (415). */
  ship: rate,
  /** After each document of ours: a customer claims goods of ours that he was sent outside (416). */
  reverse: rate,
  /** The sender of a shipment to us recalls it (251). */
  recall: rate,
  /** Mean time until they act, virtual ms; spread from half to one and a half of it. */
  delayMs: z.number().min(0).max(86_400_000),
});

export type CounterpartyKnobs = z.infer<typeof counterpartyShape>;

/** Nobody acts by himself: what happens is what a test orders. */
export const SILENT: CounterpartyKnobs = {
  accept: 0,
  part: 0,
  refuse: 0,
  ship: 0,
  reverse: 0,
  recall: 0,
  delayMs: 60_000,
};
/** A country that trades: most accept, some refuse, a few never answer. */
export const LIVELY: CounterpartyKnobs = {
  accept: 0.8,
  part: 0.05,
  refuse: 0.05,
  ship: 0.02,
  reverse: 0.01,
  recall: 0.02,
  delayMs: 60_000,
};
