import {
  firstCommandOf,
  haltOf,
  outcomeOf,
  type DocumentOutcome,
  type GroupConclusionRevised,
  type Halt,
  type RegisteredGroup,
  type Registration,
} from '#domain';
import { typedEvent } from '#event-store';
import { wordsForGroup } from '../groups/sentences.js';
import { present } from '../list-page.js';
import { askedBy } from './asked.js';
import type { ConclusionData, GroupConclusionData } from './cloud-event.js';
import { heldForOf, waitingForOf } from './held.js';
import { isSplit, type KnownGroup, type ReadParts } from './split.js';
import type { OutcomePayload } from './outcome-payload.js';

const groupPath = (groupId: string): string => `/v1/groups/${groupId}`;

/** The ERP gave one document and is told of one: that it went in parts is ours. Where it waits, and how it ended. */
export function groupWaiting(known: KnownGroup): OutcomePayload | undefined {
  if (!isSplit(known)) return undefined;
  return {
    type: 'pedigree.document.waiting.v1',
    topic: 'document.waiting',
    subject: known.row.groupId,
    data: { ...splitFields(known), waiting_for: waitingForOf(known.row) },
  };
}

/** A bad end before it holds it: of a document that was split as of one document. */
export function groupHeld(known: KnownGroup): OutcomePayload {
  const { groupId: subject } = known.row;
  const held_for = heldForOf(known.row);
  if (isSplit(known))
    return {
      type: 'pedigree.document.held.v1',
      topic: 'document.held',
      subject,
      data: { ...splitFields(known), held_for },
    };
  return { type: 'pedigree.group.held.v1', topic: 'group.held', subject, data: { ...groupFields(known), held_for } };
}

/** Of a document that was split the end is told once, when it is there. */
export function groupHalted(known: KnownGroup): OutcomePayload | undefined {
  const halt = haltOf(known.state);
  if (isSplit(known) || halt === undefined) return undefined;
  return {
    type: 'pedigree.group.halted.v1',
    topic: 'group.halted',
    subject: known.row.groupId,
    data: { ...groupFields(known), ...whyHalted(halt, known) },
  };
}

export function groupConcluded(known: KnownGroup): OutcomePayload {
  const { row, state } = known;
  const outcome = outcomeOf(state.members);
  if (known.read !== undefined)
    return {
      type: 'pedigree.document.concluded.v1',
      topic: `document.concluded.${outcome}`,
      subject: row.groupId,
      data: splitConclusion(known, known.read),
    };
  return {
    type: 'pedigree.group.concluded.v1',
    topic: `group.concluded.${outcome}`,
    subject: row.groupId,
    data: conclusionOf(known, outcome),
  };
}

export function groupRevised(known: KnownGroup): OutcomePayload | undefined {
  if (isSplit(known)) return undefined;
  const { outcome, previousOutcome } = typedEvent<GroupConclusionRevised>(known.event).data;
  return {
    type: 'pedigree.group.revised.v1',
    topic: `group.revised.${outcome}`,
    subject: known.row.groupId,
    data: { ...conclusionOf(known, outcome), previous_outcome: previousOutcome },
  };
}

/**
 * A part turned out otherwise after the whole had been told: its items are others now, also where the whole has the
 * same outcome.
 */
export function memberRevised(known: KnownGroup): OutcomePayload | undefined {
  const { state, row } = known;
  if (known.read === undefined || state.phase !== 'concluded') return undefined;
  const data = splitConclusion(known, known.read);
  return {
    type: 'pedigree.document.revised.v1',
    topic: `document.revised.${data.outcome}`,
    subject: row.groupId,
    data: { ...data, previous_outcome: state.outcome },
  };
}

function groupFields({ event, state, row }: KnownGroup) {
  const { registration, members } = state;
  const { resumes, kind } = registration;
  if (kind === 'split') throw new Error(`group ${row.groupId} is one document, and is told as one`);
  return {
    group_id: row.groupId,
    ...askedBy(registration),
    account: row.account,
    kind,
    ...(resumes === undefined ? {} : { resumes: { group_id: resumes.groupId, command_id: resumes.commandId } }),
    members: members.map((member, i) => {
      const given = registration.members[i] as Registration;
      const { requestId: request_id, documentId: document_id, outcome, cause } = member;
      return { request_id, ...askedBy(given), doc_type: given.docType, ...present({ document_id, outcome, cause }) };
    }),
    ...wordsForGroup(row),
    known_at: String(event.position),
    href: groupPath(row.groupId),
  };
}

function conclusionOf(known: KnownGroup, outcome: DocumentOutcome): GroupConclusionData {
  const halt = haltOf(known.state);
  return { ...groupFields(known), outcome, ...(halt === undefined ? {} : whyHalted(halt, known)) };
}

function whyHalted({ cause, member, predecessor, text }: Halt, { state }: KnownGroup) {
  const by =
    member === undefined
      ? predecessor
      : { ...member, ...firstCommandOf(state.registration.members[member.index] as Registration) };
  const stopped_by =
    by === undefined ? undefined : { command_id: by.commandId, request_id: by.requestId, outcome: by.outcome };
  return { halt: cause, ...present({ stopped_by, text }) };
}

function splitFields({ event, state, row, read }: KnownGroup) {
  const { registration } = state;
  const { original, members } = registration;
  const [first] = members;
  if (original === undefined || first === undefined)
    throw new Error(`group ${row.groupId} is a split document without an original`);
  return {
    request_id: row.groupId,
    ...askedBy(registration),
    account: row.account,
    doc_type: original.docType,
    ...(first.docNum === undefined ? {} : { doc_num: first.docNum }),
    item_count: original.itemCount,
    ...wordsForGroup({ ...row, outcome: row.outcome === null ? null : outcomeOf(state.members) }),
    duplicate: read?.duplicate ?? false,
    document_sha256: original.documentSha256,
    operation_date: first.operationDate,
    known_at: String(event.position),
    href: groupPath(row.groupId),
  };
}

function splitConclusion(known: KnownGroup, { conclusions, items }: ReadParts): ConclusionData {
  const { members } = known.state;
  const outcome = outcomeOf(members);
  const accepted = conclusions
    .flatMap(({ data }) => (data.acceptedAt === undefined ? [] : [data.acceptedAt]))
    .sort((a, b) => Date.parse(a) - Date.parse(b));
  const acceptedAt = accepted.at(-1);
  const parts = members.map(({ requestId, documentId, cause }, i) => {
    const { data } = conclusions[i] as ReadParts['conclusions'][number];
    return {
      request_id: requestId,
      outcome: data.outcome,
      ...present({
        cause: data.cause ?? (data.outcome === 'failed' ? cause : undefined),
        document_id: documentId,
        receipt_sha256: data.receiptSha256,
      }),
    };
  });
  return {
    ...splitFields(known),
    outcome,
    ...(outcome === 'failed' ? present({ cause: causeOf(known.state) }) : {}),
    ...(acceptedAt === undefined ? {} : { accepted_at: new Date(acceptedAt).toISOString() }),
    items,
    parts,
  };
}

/** Why nothing of it was taken: what stopped it, and not what that meant for the parts behind. */
function causeOf(state: RegisteredGroup) {
  if (haltOf(state)?.cause === 'predecessor_failed') return 'predecessor_failed' as const;
  const causes = state.members.map((one) => one.cause);
  return causes.find((one) => one !== undefined && one !== 'not_processed') ?? causes.find((one) => one !== undefined);
}
