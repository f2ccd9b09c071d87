import { isEndedByPerson, type GroupEvent, type GroupHalted } from '#domain';
import { lapsedBy } from '../lapse-words.js';
import { counted, unquoted } from '../wording.js';

type SentenceOf = { [Type in GroupEvent['type']]: (data: Extract<GroupEvent, { type: Type }>['data']) => string };

const KINDS = {
  given: 'Registered',
  split: 'Registered as the parts of one document',
  resumption: 'Registered to go on with a halted group',
} as const;

/** One plain sentence per event of a group. The type makes a forgotten event a compile error. */
const SENTENCES: SentenceOf = {
  GroupRegistered: (data) =>
    `${KINDS[data.kind]} for account ${data.account}: ${counted(data.members.length, 'document')}.`,
  GroupWaiting: (data) =>
    `Waits until ${data.for.map((one) => one.commandId).join(', ')} ${data.for.length === 1 ? 'is' : 'are'} accepted.`,
  GroupPredecessorConcluded: (data) =>
    `The earlier document or group ${data.requestId} ended ` +
    `${data.outcome}${data.by === undefined ? '' : `, sent again as ${data.by.commandId}`}.`,
  GroupHeld: ({ hold }) => `Held: the earlier document or group ${hold.for.commandId} ended ${hold.outcome}.`,
  GroupHoldWaived: (data) =>
    'A person decided that it need not wait for ' +
    `${[...data.holds.map((one) => one.for), ...(data.missing ?? [])].map((one) => one.commandId).join(', ')}.`,
  GroupHoldLapsed: lapsedBy,
  GroupItemWaitLifted: (data) =>
    `It goes before ${data.for.commandId}, whose command says that it comes after this group.`,
  GroupReleased: () => 'Nothing is waited for any more.',
  MemberSent: (data) => `Document ${data.index + 1} is with the registry, as ${data.documentId}.`,
  MemberConcluded: (data) =>
    `Document ${data.index + 1} ended ${data.outcome}${data.cause === 'not_processed' ? ': not processed' : ''}.`,
  MemberRevised: (data) =>
    `Document ${data.index + 1}, which counted as ${data.previousOutcome}, turned out ${data.outcome}.`,
  GroupCheckPassed: () => 'The registry says that the group can be started.',
  GroupCheckDenied: (data) =>
    `Check ${data.check}: the registry says that the group cannot be started: ${unquoted(data.reason)}.`,
  GroupStartAttempted: (data) => `Start ${data.attempt}: the registry is asked to begin.`,
  GroupStarted: (data) =>
    data.seenByStatus ? 'The registry has begun, as the status of a document shows.' : 'The registry has begun.',
  GroupStartRefused: (data) => `The registry refused to begin (${data.code}): ${unquoted(data.text)}.`,
  GroupStartNotDelivered: (data) =>
    `Start ${data.attempt} did not reach the registry: ${unquoted(data.reason)}. It is asked again after ` +
    `${data.retryAfterMs} ms.`,
  GroupStartUnconfirmed: (data) =>
    `Start ${data.attempt} has no known outcome: ${unquoted(data.reason)}. The documents are looked at before it is ` +
    'asked again.',
  GroupStartNotSeen: (data) =>
    `Look ${data.lookUp}: the documents lie there as they were sent, ${data.sinceAttemptEndedMs} ms after the start.`,
  GroupStartAbsenceProven: (data) =>
    `Start ${data.attempt} surely has not begun the group: ${counted(data.lookUps, 'look')}, the last after ` +
    `${data.sinceAttemptEndedMs} ms.`,
  GroupHalted: (data) => {
    if (isEndedByPerson(data.cause)) return endedBy(data);
    const by = data.member ?? data.predecessor;
    const why = by === undefined ? unquoted(data.text ?? '') : `${by.commandId} ended ${by.outcome}`;
    return (
      `Stopped: ${why}. ` +
      (data.rest.length === 0
        ? 'No document comes after it.'
        : `${counted(data.rest.length, 'document')} will not be processed.`)
    );
  },
  GroupHaltLifted: (data) => `The document that had stopped it turned out ${data.outcome}: it goes on.`,
  GroupConcluded: (data) => `Concluded: ${data.outcome}${data.halt === undefined ? '' : ', halted'}.`,
  GroupConclusionRevised: (data) => `What counted as ${data.previousOutcome} turned out ${data.outcome}.`,
  GroupResumed: (data) => `Resumed by ${data.by.commandId}, as group ${data.by.groupId}.`,
};

const endedBy = ({ cause, text = '', rest }: GroupHalted['data']): string =>
  `A person ended it: ${unquoted(text)}. ` +
  `${counted(rest.length, 'document')} will end, ` +
  (cause === 'ended_in_work'
    ? 'also what the registry shows as in work.'
    : 'once the registry shows that the group has not begun.');

/**
 * The sentence of one stored event of a group. Throws on a type that it does not know: the log is then newer than this
 * program.
 */
export function sentenceOfGroupEvent(event: { type: string; data: object }): string {
  if (!Object.hasOwn(SENTENCES, event.type)) throw new Error(`unknown group event: ${event.type}`);
  // The table's type ties each sentence to its own data; a stored event's type is only known at run time.
  const sentence = SENTENCES[event.type as GroupEvent['type']] as (data: object) => string;
  return sentence(event.data);
}
