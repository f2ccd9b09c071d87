import type { Sha256 } from '#kernel';

/** Fields of events that name evidence. Digests of other things (of keys, of settings) have other names. */
const EVIDENCE =
  /"(?:document|receipt|answer|content|body|signature|certificate|chain|letter|list|inForce)Sha256":"([0-9a-f]{64})"/g;

/** What is larger than one piece of evidence is in several: those behind the first. */
const FURTHER = /"furtherSha256":\[([^\]]*)\]/g;
const DIGEST = /[0-9a-f]{64}/g;

/** The same in the names of the API. */
const IN_ANSWER = /"(?:document|receipt|answer|content|signature|certificate|letter|list)_sha256":"([0-9a-f]{64})"/g;

/** The evidence that an answer of the API names, each once. */
export const digestsInAnswer = (body: string): Sha256[] => [
  ...new Set([...body.matchAll(IN_ANSWER)].map(([, sha256]) => sha256 as Sha256)),
];

/** The evidence that an event names; `data` is the JSON of its data. */
export const evidenceIn = (data: string): Sha256[] => [
  ...[...data.matchAll(EVIDENCE)].map(([, sha256]) => sha256 as Sha256),
  ...[...data.matchAll(FURTHER)].flatMap(([, list = '']) => list.match(DIGEST) ?? []),
];

/** An event of this type names, as its answer, a list of answers. */
const LIST_HELD = 'SuspendedListHeld';
const LIST = /"answerSha256":"([0-9a-f]{64})"/;
const IN_LIST = /"sha256":"([0-9a-f]{64})"/g;

/** The evidence of an event that names further evidence: the answers of which a list was read, page by page. */
export const listOfAnswersIn = (type: string, data: string): Sha256 | undefined =>
  type === LIST_HELD ? LIST.exec(data)?.[1] : undefined;

/** The answers that such a list names. */
export const answersIn = (list: string): Sha256[] => [...list.matchAll(IN_LIST)].map(([, sha256]) => sha256 as Sha256);
