/** A call that gave no good answer, in words: its kind, and what the registry or the network said. */
export const outcomeWords = (outcome: { kind: string } & ({ text: string } | { reason: string })): string =>
  `${outcome.kind}: ${'text' in outcome ? outcome.text : outcome.reason}`;
