import { isForPredecessor, type DocumentEvent, type Hold, type OwnHold } from '#domain';
import { neverReached } from '#kernel';
import { packsListed } from '../gate-words.js';
import { stoppedListed } from '../stop-words.js';
import { lapsedBy } from '../lapse-words.js';
import { counted, ENDED_IN_WORK, listed, unquoted } from '../wording.js';

const commandsOf = (holds: Hold[]): string[] => holds.filter(isForPredecessor).map((one) => one.for.commandId);

type SentenceOf = { [Type in DocumentEvent['type']]: (data: Extract<DocumentEvent, { type: Type }>['data']) => string };

/** One plain sentence per event of a document. The type makes a forgotten event a compile error. */
const SENTENCES: SentenceOf = {
  DocumentRegistered: (data) =>
    `Registered for account ${data.account}: type ${data.docType}, ${counted(data.itemCount, 'item')}, ` +
    `${counted(data.byteLength, 'byte')}.`,
  DocumentWaiting: (data) =>
    `Waits until ${listed(data.for.map((one) => one.commandId))} ${data.for.length === 1 ? 'is' : 'are'} accepted.`,
  PredecessorConcluded: (data) =>
    `The earlier document ${data.requestId} ended ` +
    `${data.outcome}${data.by === undefined ? '' : `, sent again as ${data.by.commandId}`}.`,
  DocumentHeld: ({ hold }) =>
    isForPredecessor(hold)
      ? `Held: the earlier document ${hold.for.commandId} ended ${hold.outcome}.`
      : `Held: ${heldBy(hold)}.`,
  HoldWaived: (data) => waivedBy(data).join(' '),
  HoldLapsed: lapsedBy,
  ItemWaitLifted: (data) =>
    `It goes before ${data.for.commandId}, whose command says that it comes after this one, or which the state of ` +
    'its packs holds.',
  GateWarned: (data) =>
    data.neededAt === undefined
      ? `Warning: it goes, though the state of ${counted(data.packCount, 'pack')} forbids it. ${packsListed(data)}.`
      : `Warning: it goes without a look at its packs: their record had come to position ${data.knownAt}, and not to ` +
        `${data.neededAt}.`,
  GateHoldLifted: () => 'The state of its packs forbids it no longer.',
  SuspensionWarned: (data) =>
    `Warning: it goes, though nobody told whether its packs are of a suspended series. ${stoppedListed(data)}.`,
  SuspensionHoldLifted: () => 'No suspension that it was held for is in force any more.',
  DocumentReleased: () => 'Nothing is waited for any more.',
  DocumentRefused: (data) =>
    data.ring !== undefined
      ? `Not to be sent: it would wait for itself, for ${listed(data.ring.map((one) => one.commandId))} wait for it.`
      : data.predecessor === undefined
        ? `Not to be sent: a person ended it, for ${endedFor(data)}.`
        : data.predecessorOutcome === undefined
          ? `Not to be sent: a person ended it, for ${data.predecessor.commandId} never came.`
          : `Not to be sent: the earlier document ${data.predecessor.commandId} ended ${data.predecessorOutcome}.`,
  SendAttempted: (data) => `Attempt ${data.attempt}: signed and handed to the registry as account ${data.account}.`,
  DocumentSent: (data) =>
    data.foundByLookUp
      ? `Found at the registry by its request_id, as document ${data.documentId}.`
      : `Taken by the registry as document ${data.documentId}.`,
  SendRefused: (data) => `The registry refused to take it (${data.code}): ${unquoted(data.text)}.`,
  SendNotDelivered: (data) =>
    data.accountCause === undefined
      ? `Attempt ${data.attempt} did not reach the registry: ${unquoted(data.reason)}. It is resent after ` +
        `${data.retryAfterMs} ms.`
      : `The registry took nothing of attempt ${data.attempt} because of the account (${data.accountCause}): ` +
        `${unquoted(data.reason)}. The document waits for its account.`,
  SendUnconfirmed: (data) =>
    `Attempt ${data.attempt} has no known outcome: ${unquoted(data.reason)}. It is looked up before anything ` +
    'is sent again.',
  LookUpMissed: (data) =>
    `Look-up ${data.lookUp}: the registry does not show it, ${data.sinceAttemptEndedMs} ms after the attempt ended.`,
  SendAbsenceProven: (data) =>
    `Attempt ${data.attempt} surely did not arrive: ${counted(data.lookUps, 'look-up')} without a hit, the last ` +
    `after ${data.sinceAttemptEndedMs} ms.`,
  UploadOpened: (data) =>
    data.foundByLookUp
      ? `Found at the registry by its request_id, as document ${data.documentId} whose bytes are awaited.`
      : `Announced to the registry as document ${data.documentId}; its bytes go up in parts.`,
  UploadFinishAttempted: () => 'All its bytes are at the registry; it is told that this was the last of them.',
  UploadFinishNotDelivered: (data) =>
    `The end of the upload did not reach the registry: ${unquoted(data.reason)}. It is repeated after ` +
    `${data.retryAfterMs} ms.`,
  UploadFinishUnconfirmed: (data) =>
    `Whether the upload has ended is not known: ${unquoted(data.reason)}. It is looked up before anything ` +
    'else is done.',
  UploadRefused: (data) =>
    `The registry said no to the upload (${data.code}): ${unquoted(data.text)}. It is looked up before ` +
    'anything else is done.',
  UploadSeenOpen: (data) =>
    `Look-up ${data.lookUp}: the registry still awaits bytes, ${data.sinceAttemptEndedMs} ms after it was told ` +
    'the end.',
  UploadProvenOpen: () => 'The registry still awaits bytes: the upload goes on.',
  DuplicateDetected: (data) =>
    `Alarm: the registry holds ${counted(data.documentIds.length, 'document')} under this request_id: ` +
    `${listed(data.documentIds)}.`,
  StatusObserved: (data) => `The registry's status is ${data.status}.`,
  ReceiptStored: (data) =>
    `Receipt stored: ${data.result}, ${counted(data.errorCount, 'error')}, accepted at ${data.acceptedAt}.`,
  DocumentDownloaded: (data) =>
    data.sameBytes
      ? "The registry's copy was fetched; it is byte for byte what was sent."
      : "The registry's copy was fetched; it differs from what was sent.",
  DocumentNotProcessed: (data) =>
    data.failed === undefined
      ? `Not processed: ${data.inWork === true ? ENDED_IN_WORK : 'its group was not started'}.`
      : `Not processed: the registry stopped the group at ${data.failed.commandId}, which ended ` +
        `${data.failed.outcome}.`,
  DocumentResent: (data) => `Sent again by an operator, as ${data.by.commandId} (${data.by.requestId}).`,
  DocumentSuperseded: (data) =>
    `The group was resumed: ${data.by.commandId} (${data.by.requestId}) stands in its place.`,
  DocumentConcluded: (data) =>
    `Concluded: ${data.outcome}${data.cause === undefined ? '' : ` (${CAUSES[data.cause]})`}.`,
  ConclusionRevised: (data) => `What counted as ${data.previousOutcome} turned out ${data.outcome}.`,
};

function heldBy(hold: OwnHold): string {
  switch (hold.kind) {
    case 'gate':
      return `the known state of ${counted(hold.packCount, 'pack')} forbids it. ${packsListed(hold)}`;
    case 'suspension':
      return `packs of it are suspended. ${stoppedListed(hold)}`;
    case 'person':
      return `${hold.by} holds it: ${unquoted(hold.reason)}`;
    default:
      return neverReached(hold, 'hold');
  }
}

const WAIVED: Record<OwnHold['kind'], string> = {
  gate: 'A person decided that it is sent, whatever the state of its packs.',
  suspension: 'A person decided that it is sent, though packs of it are suspended.',
  person: 'A person decided that it is held no longer.',
};

function waivedBy({ holds, missing }: Extract<DocumentEvent, { type: 'HoldWaived' }>['data']): string[] {
  const need = (commands: string[]): string => `A person decided that it need not wait for ${listed(commands)}.`;
  const own = holds.flatMap((one) => (isForPredecessor(one) ? [] : [WAIVED[one.kind]])).slice(0, 1);
  return [
    ...(own.length > 0 || holds.length === 0 ? own : [need(commandsOf(holds))]),
    ...(missing === undefined ? [] : [need(missing.map((one) => one.commandId))]),
  ];
}

function endedFor({ suspension, person }: Extract<DocumentEvent, { type: 'DocumentRefused' }>['data']): string {
  if (person !== undefined) return 'a person held it';
  return suspension === undefined ? 'the state of its packs forbids it' : 'packs of it are suspended';
}

const CAUSES: Record<NonNullable<Extract<DocumentEvent, { type: 'DocumentConcluded' }>['data']['cause']>, string> = {
  registry_failed: 'the registry failed without a receipt',
  send_refused: 'the registry refused to take it',
  predecessor_failed: 'what it was to come after did not succeed',
  not_processed: 'its group stopped before its turn',
  waits_in_ring: 'it would wait for itself',
  packs_forbid: 'the state of its packs forbids it',
  ended_by_person: 'a person held it, and ended it',
};

/**
 * The sentence of one stored event. Throws on a type that it does not know: the log is then newer than this program.
 */
export function sentenceOfEvent(event: { type: string; data: object }): string {
  if (!Object.hasOwn(SENTENCES, event.type)) throw new Error(`unknown document event: ${event.type}`);
  // The table's type ties each sentence to its own data; a stored event's type is only known at run time.
  const sentence = SENTENCES[event.type as DocumentEvent['type']] as (data: object) => string;
  return sentence(event.data);
}
