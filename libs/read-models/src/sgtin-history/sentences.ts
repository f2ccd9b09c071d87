import type { WithheldReason } from '#domain';
import { neverReached } from '#kernel';
import type { ContainmentFinding } from './containment.js';
import type { ContentQuestion } from './content-question.js';
import type { StateFinding } from './state.js';

export type LifeFinding = {
  kind: ContainmentFinding['kind'] | StateFinding['kind'];
  item: string;
  container?: string;
  other?: string;
};

/** What a contradiction between documents means, in one sentence. */
export function sentenceOfFinding({ kind, item, container, other }: LifeFinding): string {
  switch (kind) {
    case 'ring':
      return `${item} went into ${container}, which was within ${item}.`;
    case 'in_two_containers':
      return `${item} went into ${container} while it was in ${other}; nothing tells that it had left.`;
    case 'packed_twice':
      return `${item} went into ${container}, where it was already.`;
    case 'not_packed':
      return `${item} was taken out of a container, and no document tells that it went into one.`;
    case 'claimed_out_of_order':
      return `${item} left ${other} by a document that claims to be older than its packing.`;
    case 'transfer_not_known':
      return `${item} was accepted, recalled or refused, and no document tells that it was shipped.`;
    case 'more_than_whole':
      return `More of ${item} was sold, used or withdrawn than was left of it.`;
    case 'series_contradicts':
      return `${item} had another series before: ${other}.`;
    default:
      return neverReached(kind, 'finding');
  }
}

const WITHHELD: Readonly<Record<WithheldReason, string>> = {
  access_denied: 'it shows the content to the owner and to the counterparty of an operation alone',
  not_found: 'it does not know the container',
  refused: 'it refuses the question',
  not_understood: 'its answer is not understood',
  too_large: 'its answer holds more than is taken',
  no_answer: 'it does not answer',
};

/** Why the content of a container is not known, in one sentence; without a question nobody has asked the registry. */
export function sentenceOfUnknown(question?: Pick<ContentQuestion, 'standing' | 'reason' | 'askedAt'>): string {
  if (question === undefined) return 'Content unknown: nothing told what is in it, and the registry was not asked.';
  const since = question.askedAt.toISOString();
  const why = question.reason === null ? '' : `: ${WITHHELD[question.reason]}`;
  return question.standing === 'unavailable'
    ? `Content unknown: the registry was asked from ${since} on, and then no more${why}.`
    : `Content unknown: the registry is being asked since ${since}${why}.`;
}

/** Of containers within another one. */
export const sentenceOfInside = ([first = '', ...others]: readonly string[]): string =>
  others.length === 0
    ? `Content unknown: nothing told what is in ${first}, which lies in it.`
    : `Content unknown: nothing told what is in ${first} and ${others.length} more containers, which lie in it.`;
