import { neverReached } from '#kernel';
import { mayBeOthers, wordsOf, type AttemptFact, type Step } from '../attempt/attempt.js';
import { TWO_PAST_GRACE, type AttemptPolicy } from '../attempt/decide.js';
import type { DocumentConcluded, DocumentEvent, FailureCause, Registration } from './events.js';

/** A refusal after so many attempts that were proven absent is the document's fault. */
const DOUBTS_TO_BELIEVE_A_NO = 3;
const UNSURE = ' after an attempt of unknown outcome';

/**
 * Sending a document, or announcing a large one. An attempt that counted as absent may have landed since, and the next
 * one be refused as its second: such a refusal is looked up, and not believed. Nor is, at first, what a server before
 * the registry may have said.
 */
export const SEND_POLICY: AttemptPolicy = {
  believes: (refusal, { doubts }) => (doubts === 0 && !mayBeOthers(refusal)) || doubts >= DOUBTS_TO_BELIEVE_A_NO,
  proof: TWO_PAST_GRACE,
  proofAfterRefusal: TWO_PAST_GRACE,
};

/** How a fact about a send is written into the log. Intent and good news carry more, and are written by decide. */
export function sendEvents(fact: AttemptFact | undefined, registration: Registration): DocumentEvent[] {
  switch (fact?.type) {
    case undefined:
    case 'begun':
    case 'done':
      return [];
    case 'refused':
      return [{ type: 'SendRefused', data: fact.data }, failed(registration, 'send_refused')];
    case 'doubted': {
      const { attempt, refusal } = fact.data;
      const why = mayBeOthers(refusal) ? ', and not in the words of the registry' : UNSURE;
      const reason = `refused${why}: ${wordsOf(refusal)}`;
      return [{ type: 'SendUnconfirmed', data: { attempt, reason, answerSha256: refusal.answerSha256 } }];
    }
    case 'not_delivered':
      return [{ type: 'SendNotDelivered', data: fact.data }];
    case 'unconfirmed':
      return [{ type: 'SendUnconfirmed', data: fact.data }];
    case 'missed':
      return [{ type: 'LookUpMissed', data: fact.data }];
    case 'proven_undone':
      return [{ type: 'SendAbsenceProven', data: fact.data }];
    default:
      return neverReached(fact, 'fact about a send');
  }
}

/** The events of a send after which it still goes on. */
export type SendEvent = Extract<DocumentEvent, { type: keyof typeof STEPS }>;

const STEPS = {
  SendAttempted: 'begun',
  SendNotDelivered: 'not_delivered',
  SendUnconfirmed: 'unconfirmed',
  LookUpMissed: 'missed',
  SendAbsenceProven: 'proven_undone',
} as const;

export const sendStepOf = ({ type, data }: SendEvent): Step => ({ type: STEPS[type], data });

export const failed = ({ docType, documentSha256 }: Registration, cause: FailureCause): DocumentConcluded => ({
  type: 'DocumentConcluded',
  data: { outcome: 'failed', cause, docType, documentSha256 },
});
