import type { RegistryStatus } from '#domain';
import { neverReached } from '#kernel';
import type { WaitedFor } from '../port.js';
import { because, counted, ENDED_IN_WORK, unquoted } from '../wording.js';
import { packsListed } from '../gate-words.js';
import { stoppedListed } from '../stop-words.js';
import { ownHoldOf, predecessorsHeldFor, type HeldFor } from './holds.js';
import type { DocumentOutcomeRow } from './row.js';

export interface PlainWords {
  /** What the state means, in one sentence. */
  sentence: string;
  /** What to do, where there is something to do. */
  remedy?: string;
}

/** What the words are made of: the row, and the receipt's errors where they were read. */
export type Described = Pick<
  DocumentOutcomeRow,
  | 'phase'
  | 'heldFor'
  | 'attempts'
  | 'status'
  | 'outcome'
  | 'cause'
  | 'problem'
  | 'comment'
  | 'errorCount'
  | 'itemCount'
  | 'duplicate'
  | 'documentId'
  | 'groupId'
  | 'supersededBy'
  | 'resentAs'
> & { waitingFor: Pick<WaitedFor, 'commandId' | 'known' | 'items' | 'itemCount'>[]; errors?: { text: string }[] };

/** At most this many of the documents waited for are named in a sentence. */
const NAMED_IN_SENTENCE = 5;

/** At most this many different reasons are named in a sentence; the items themselves are listed beside it. */
const REASONS_IN_SENTENCE = 3;

/**
 * A plain sentence and a remedy for a document as it stands: for the person who sees it in the ERP, the console or a
 * terminal.
 */
export function wordsFor(document: Described): PlainWords {
  const words = wordsByPhase(document);
  return document.duplicate
    ? {
        sentence: `${words.sentence} Attention: the registry holds one document too many under this request_id.`,
        remedy:
          `${words.remedy === undefined ? '' : `${words.remedy} `}Compare the registry's documents of this ` +
          'request_id and undo the one too many.',
      }
    : words;
}

function wordsByPhase(document: Described): PlainWords {
  const { phase } = document;
  switch (phase) {
    case 'waiting':
      return waiting(document.waitingFor);
    case 'held':
      return held(document);
    case 'ready':
      return { sentence: readySentence(document) };
    case 'sending':
      return { sentence: 'Being sent to the registry.' };
    case 'uploading':
      return { sentence: `Announced to the registry, and going up in parts${because(document.problem)}.` };
    case 'unconfirmed':
      return {
        sentence:
          `Nobody knows yet whether the registry took it${because(document.problem)}; it is looked up there before ` +
          'anything is sent again.',
      };
    case 'sent':
      if (document.groupId !== null && document.status === null)
        return { sentence: 'The registry has it, and processes it when its group was started and its turn comes.' };
      return { sentence: SENT_BY_STATUS[document.status ?? 'unknown'] };
    case 'received':
      return { sentence: 'The registry has answered; its receipt is stored and is being read.' };
    case 'concluded':
      return document.resentAs === null
        ? concluded(document)
        : { ...concluded(document), remedy: `Nothing: an operator sent it again as document ${document.resentAs}.` };
    default:
      return neverReached(phase, 'document phase');
  }
}

function readySentence({ groupId, attempts, problem }: Described): string {
  if (attempts > 0) return `Attempt ${attempts} did not reach the registry${because(problem)}; it will be sent again.`;
  return groupId === null ? 'Ready to be sent.' : 'A member of a group: it is sent when its turn comes.';
}

/** The items in which a document meets one that it waits for, for example ` (both name A, B and 7 more)`. */
export function metIn(one: { commandId: string; items?: string[]; itemCount?: number }): string {
  const { items, itemCount } = one;
  if (items === undefined || itemCount === undefined) return '';
  const more = itemCount - items.length;
  return ` (both concern ${items.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

/** What holds it, and what may be done about it; for documents and for groups. */
export function heldWords(heldFor: HeldFor[], what: 'document' | 'group'): PlainWords {
  const own = ownWords(heldFor);
  if (own !== undefined) return own;
  const why = listed(predecessorsHeldFor(heldFor).map((one) => `${one.commandId} ended ${one.outcome}${metIn(one)}`));
  return {
    sentence: `Held, and not sent: it comes after others, and ${why}.`,
    remedy:
      'It goes when that turns out otherwise, or when the earlier document is sent again, or the earlier group ' +
      `resumed, and accepted. Else decide: pedigree release REQUEST_ID --reason TEXT sends this ${what} all the ` +
      'same, pedigree end REQUEST_ID --reason TEXT ends it.',
  };
}

const DECIDE =
  'pedigree release REQUEST_ID --reason TEXT sends it all the same, pedigree end REQUEST_ID --reason TEXT ends it.';

/** What holds the document itself. A person's hold comes first: no other end of a hold lets it go. */
function ownWords(heldFor: HeldFor[]): PlainWords | undefined {
  const person = ownHoldOf(heldFor, 'person');
  if (person !== undefined)
    return {
      sentence: `Held, and not sent: ${person.by} holds it: ${unquoted(person.reason)}.`,
      remedy: `It goes when a person says so: ${DECIDE}`,
    };
  const suspension = ownHoldOf(heldFor, 'suspension');
  if (suspension !== undefined)
    return {
      sentence: `Held, and not sent: packs of it are suspended. ${stoppedListed(suspension)}.`,
      remedy: `It goes when the suspension has ended. Else decide: ${DECIDE}`,
    };
  const gate = ownHoldOf(heldFor, 'gate');
  if (gate === undefined) return undefined;
  return {
    sentence: `Held, and not sent: the known state of its packs forbids it. ${packsListed(gate)}.`,
    remedy: `It goes when a later document makes their state fit. Else decide: ${DECIDE}`,
  };
}

function held({ heldFor, waitingFor }: Described): PlainWords {
  const words = heldWords(heldFor, 'document');
  return waitingFor.length === 0 ? words : { ...words, sentence: `${words.sentence} ${waiting(waitingFor).sentence}` };
}

/**
 * Says in the ERP's words for what a document waits, and what has not even arrived: that alone somebody has to do
 * something about.
 */
function waiting(waitingFor: Described['waitingFor']): PlainWords {
  const until =
    `Waits until ${listed(waitingFor.map((one) => `${one.commandId}${metIn(one)}`))} ` +
    `${waitingFor.length === 1 ? 'has' : 'have'} ` +
    'concluded';
  const missing = waitingFor.filter((one) => !one.known).map((one) => one.commandId);
  if (missing.length === 0) return { sentence: `${until}.` };
  const who = waitingFor.length === 1 ? 'it' : listed(missing);
  return {
    sentence: `${until}; ${who} ${missing.length === 1 ? 'was' : 'were'} not received yet.`,
    remedy:
      `Send the command ${listed(missing)}; where the id in \`after\` is wrong, nothing will ever release this ` +
      'document.',
  };
}

const SENT_BY_STATUS: Record<RegistryStatus | 'unknown', string> = {
  unknown: 'Sent; the registry has not told a status yet.',
  uploading: 'Sent; the registry is taking it in.',
  processing: 'Sent; the registry is processing it.',
  processed: 'The registry has finished with it; the receipt is being fetched.',
  failed_result_ready: 'The registry has finished with errors; the receipt that names them is being fetched.',
  failed: 'The registry reports a critical error.',
};

function concluded(document: Described): PlainWords {
  const { outcome } = document;
  switch (outcome) {
    case 'accepted':
      return {
        sentence:
          'Accepted by the registry: ' +
          `${document.itemCount === 1 ? 'its one item' : `all ${document.itemCount} items`}.`,
      };
    case 'partial':
      return {
        sentence: `Accepted in part: the registry refused ${refused(document)}.`,
        remedy: 'The other items are done. Correct the items named below and send a new document for them alone.',
      };
    case 'rejected':
      return rejected(document);
    case 'failed':
      return failed(document);
    case null:
      throw new Error('a concluded document without an outcome');
    default:
      return neverReached(outcome, 'document outcome');
  }
}

function rejected(document: Described): PlainWords {
  return document.errorCount > 0
    ? {
        sentence: `Rejected by the registry: ${refused(document)}.`,
        remedy: 'Correct the items named below and send a new document.',
      }
    : {
        sentence: `Rejected by the registry as a whole${because(document.comment)}.`,
        remedy: 'Correct what the registry names and send a new document.',
      };
}

function failed(document: Described): PlainWords {
  const { cause } = document;
  switch (cause) {
    case 'registry_failed':
      return {
        sentence: 'The registry failed to process it and gave no receipt.',
        remedy:
          `Nothing is known to have moved. Send a new document; if that fails too, ask the registry's support ` +
          `about document ${document.documentId ?? 'without a number'}.`,
      };
    case 'send_refused':
      return {
        sentence: `The registry refused to take the document${because(document.problem)}.`,
        remedy: "Nothing has moved. Correct what the registry's answer names and send a new document.",
      };
    case 'predecessor_failed':
      return {
        sentence: `Not sent: the document that it was to come after did not succeed${because(document.problem)}.`,
        remedy: 'Correct and send the earlier document first, then send this one in a new command.',
      };
    case 'waits_in_ring':
      return {
        sentence:
          'Not sent: it would wait for itself. It names the same packs as earlier documents that wait for ' +
          `it${because(document.problem)}.`,
        remedy: 'Nothing has moved. Give those documents without `after`, or this one with waive_item_wait.',
      };
    case 'packs_forbid':
    case 'ended_by_person':
      return ended(document.problem, cause);
    case 'not_processed':
      return notProcessed(document);
    case null:
      throw new Error('a failed document without a cause');
    default:
      return neverReached(cause, 'failure cause');
  }
}

/** A person ended what was held. */
const ended = (problem: string | null, cause: 'packs_forbid' | 'ended_by_person'): PlainWords =>
  cause === 'packs_forbid'
    ? {
        sentence: `Not sent: the known state of its packs forbids it${because(problem)}.`,
        remedy: 'Nothing has moved. Send a new document for the packs whose state fits.',
      }
    : {
        sentence: `Not sent: a person held it, and ended it${because(problem)}.`,
        remedy: 'Nothing has moved. Send a new document where one is wanted.',
      };

function notProcessed({ problem, groupId, supersededBy }: Described): PlainWords {
  if (problem === ENDED_IN_WORK)
    return {
      sentence: `Not processed: ${problem}.`,
      remedy:
        'If the registry processes it after all, that is told as revised. Give it again as a new command, once the ' +
        'registry says that it is over.',
    };
  const why =
    unquoted(problem ?? '') === ''
      ? 'its group was not started'
      : `the registry stopped its group at an earlier document: ${unquoted(problem ?? '')}`;
  const sentence = `Not processed: ${why}.`;
  return supersededBy === null
    ? {
        sentence,
        remedy:
          `Nothing of it has moved. Resume the group with a corrected document: pedigree resume ${groupId} ` +
          '--corrected FILE --reason TEXT.',
      }
    : { sentence, remedy: `The group was resumed: document ${supersededBy} stands in its place.` };
}

/** For example `2 of 100 items, not the owner`. The reasons are the receipt's own words, the most frequent first. */
function refused({ errorCount, itemCount, errors, comment }: Described): string {
  const many =
    errorCount <= itemCount
      ? `${errorCount} of ${counted(itemCount, 'item')}`
      : `with ${counted(errorCount, 'error')} on ${counted(itemCount, 'item')}`;
  const reasons = reasonsOf(errors ?? []);
  const words = reasons === '' ? unquoted(comment ?? '') : reasons;
  return words === '' ? many : `${many}, ${words}`;
}

function reasonsOf(errors: { text: string }[]): string {
  const frequency = new Map<string, number>();
  for (const { text } of errors) {
    const words = unquoted(text);
    if (words !== '') frequency.set(words, (frequency.get(words) ?? 0) + 1);
  }
  const reasons = [...frequency].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([text]) => text);
  const others = reasons.length - REASONS_IN_SENTENCE;
  return (
    reasons.slice(0, REASONS_IN_SENTENCE).join('; ') + (others > 0 ? `; and ${counted(others, 'other reason')}` : '')
  );
}

/** For example `a, b and c`, or `a, b, c, d, e and 7 more`. */
function listed(names: string[]): string {
  const parts =
    names.length > NAMED_IN_SENTENCE
      ? [...names.slice(0, NAMED_IN_SENTENCE), `${names.length - NAMED_IN_SENTENCE} more`]
      : names;
  return parts.length < 2 ? (parts[0] ?? 'nothing') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
