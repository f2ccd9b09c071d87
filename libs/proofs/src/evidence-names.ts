import type { Sha256 } from '#kernel';

/** Fields of events that name evidence. Digests of other things (of keys, of settings) have other names. */
const EVIDENCE =
  /"(?:document|receipt|answer|content|signature|certificate|chain|letter|list|inForce)Sha256":"([0-9a-f]{64})"/g;

/** The same in the names of the API. */
const IN_ANSWER = /"(?:document|receipt|answer|content|signature|certificate|letter|list)_sha256":"([0-9a-f]{64})"/g;

/** The evidence that an answer of the API names, each once. */
export const digestsInAnswer = (body: string): Sha256[] => [
  ...new Set([...body.matchAll(IN_ANSWER)].map(([, sha256]) => sha256 as Sha256)),
];

/** The evidence that an event names; `data` is the JSON of its data. */
export const evidenceIn = (data: string): Sha256[] =>
  [...data.matchAll(EVIDENCE)].map(([, sha256]) => sha256 as Sha256);
