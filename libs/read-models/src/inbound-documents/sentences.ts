import type { InboundChannel, InboundEvent } from '#domain';
import { neverReached } from '#kernel';
import { unquoted } from '../wording.js';
import type { InboundDocumentRow } from './row.js';

const CHANNELS: Record<InboundChannel, string> = {
  counterparty: 'Told to us by another participant',
  emission_registrar: 'Sent in our name by an emission registrar',
  disposal_registrar: 'Sent in our name by a disposal registrar',
  fiscal_operator: 'Sent in our name by a till, through the fiscal data operator',
  cabinet: 'Sent in our name in the web cabinet',
  other_system: 'Sent in our name by another system',
};

/** One plain sentence: whose it is, and where it stands. */
export function inboundSentence(row: InboundDocumentRow): string {
  const { channel, phase, outcome, linkedRequestId } = row;
  if (phase === 'ours') return `It is our own document ${linkedRequestId ?? ''}: see there.`;
  const became = phase === 'followed' ? 'what became of it is being read' : outcomeWords(outcome);
  const said = `${CHANNELS[channel]}; ${became}.`;
  const problem = problemOf(row);
  return problem === null ? said : `${said} ${problem}.`;
}

/** Why its bytes and its receipt cannot be had or read; null where they can. */
export function problemOf({
  problem,
  receiptProblem,
}: Pick<InboundDocumentRow, 'problem' | 'receiptProblem'>): string | null {
  const problems = [problem, receiptProblem].flatMap((one) => (one === null ? [] : [unquoted(one)]));
  return problems.length === 0 ? null : problems.join('. ');
}

function outcomeWords(outcome: InboundDocumentRow['outcome']): string {
  switch (outcome) {
    case 'accepted':
      return 'the registry took it';
    case 'partial':
      return 'the registry took it in part';
    case 'rejected':
      return 'the registry rejected it';
    case 'failed':
      return 'the registry failed to process it, and nothing moved';
    case 'undetermined':
      return 'the registry is done with it, and how it ended is not known';
    case null:
      throw new Error('a concluded document of others without an outcome');
    default:
      return neverReached(outcome, 'inbound outcome');
  }
}

type SentenceOf = { [Type in InboundEvent['type']]: (data: Extract<InboundEvent, { type: Type }>['data']) => string };

/** One plain sentence per event. The type makes a forgotten event a compile error. */
const SENTENCES: SentenceOf = {
  InboundSeen: (data) => `Seen in the ${data.direction} list of account ${data.account}, with status ${data.status}.`,
  InboundStatusObserved: (data) =>
    `The registry's status is ${data.status}${data.isLastWord === true ? ', and stays so' : ''}.`,
  InboundDownloaded: (data) =>
    'problem' in data.content
      ? `Fetched, ${data.byteLength} bytes; they cannot be read: ${unquoted(data.content.problem)}.`
      : `Fetched: type ${data.content.docType}, items: ${data.content.itemCount}, ${data.byteLength} bytes.`,
  InboundDownloadGivenUp: (data) =>
    `The registry does not give it, asked ${data.attempts} times: ${unquoted(data.reason)}.`,
  InboundReceiptStored: (data) =>
    `Receipt stored: ${data.result}, errors: ${data.errorCount}, accepted at ${data.acceptedAt}.`,
  InboundReceiptGivenUp: (data) =>
    `There is no receipt to be had, asked ${data.attempts} times: ${unquoted(data.reason)}.`,
  InboundConcluded: (data) => `Concluded: ${data.outcome}.`,
  InboundAskedAgain: ({ parts, account }) =>
    `The registry is asked again for the ${parts.join(' and the ')}, through account ${account}.`,
  InboundLinked: (data) =>
    `It belongs to our document ${data.requestId}, found by ` +
    `${data.by === 'items' ? `counterparty and ${data.sharedItems ?? 'shared'} items` : data.by}.`,
  InboundRecognised: (data) =>
    `It is our own document ${data.requestId}, whose command came later than the list showed it: it counts as ` +
    'that one alone.',
};

/**
 * The sentence of one stored event. Throws on a type that it does not know: the log is then newer than this program.
 */
export function sentenceOfInboundEvent(event: { type: string; data: object }): string {
  if (!Object.hasOwn(SENTENCES, event.type)) throw new Error(`unknown inbound event: ${event.type}`);
  // The table's type ties each sentence to its own data; a stored event's type is only known at run time.
  return (SENTENCES[event.type as InboundEvent['type']] as (data: object) => string)(event.data);
}
