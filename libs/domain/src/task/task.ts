import { z } from 'zod';
import {
  DOCUMENT_OUTCOMES,
  FAILURE_CAUSES,
  GROUP_KINDS,
  REGISTRY_STATUSES,
  type DocumentReference,
  type GroupMembership,
  type ItemPredecessor,
  type Registration,
} from '../document/events.js';
import type { GroupRegistration } from '../group/state.js';
import { INBOUND_CHANNELS, INBOUND_DIRECTIONS, type InboundSeen } from '../inbound/events.js';

const text = z.string();
const count = z.int();
const yes = z.exactOptional(z.literal(true));
const optional = z.exactOptional(text);

const reference: z.ZodType<DocumentReference> = z.object({ commandId: text, requestId: text });
const membership: z.ZodType<GroupMembership> = z.object({
  groupId: text,
  index: count,
  of: count,
  kind: z.enum(GROUP_KINDS),
});
const registration: z.ZodType<Registration> = z.object({
  requestId: text,
  commandId: text,
  account: text,
  docType: count,
  documentSha256: text,
  byteLength: count,
  itemCount: count,
  subjectId: text,
  operationDate: text,
  after: z.array(reference),
  group: z.exactOptional(membership),
  supersedes: z.exactOptional(reference),
  resendOf: z.exactOptional(reference),
  waivesItemWait: yes,
});
const group: z.ZodType<GroupRegistration> = z.object({
  groupId: text,
  commandId: text,
  account: text,
  kind: z.enum(GROUP_KINDS),
  members: z.array(registration),
  after: z.array(reference),
  resumes: z.exactOptional(z.object({ groupId: text, commandId: text })),
  waivesItemWait: yes,
});
/** Whom it meets by its items. */
const itemPredecessor: z.ZodType<ItemPredecessor> = z.object({
  commandId: text,
  requestId: text,
  items: z.array(text),
  itemCount: count,
});
/** Who gave the command; the shape of `Actor` in libs/event-store. */
const actor = z.object({ kind: z.enum(['person', 'system', 'registry']), name: text, authenticatedBy: text });

const document = { requestId: text, account: text };
const sent = z.object({ ...document, documentId: text });
const ofGroup = { groupId: text, account: text };
const predecessor = { predecessor: text, finalOnly: yes };
const direction = z.enum(INBOUND_DIRECTIONS);
const inbound = { documentId: text, account: text, direction };
const listed = z.object({ account: text, list: direction });
const fetched = z.object({ fetchId: text, account: text });
const seen: z.ZodType<InboundSeen['data']> = z.object({
  ...inbound,
  requestId: optional,
  answerSha256: text,
  status: z.enum(REGISTRY_STATUSES),
  channel: z.enum(INBOUND_CHANNELS),
});

/**
 * Every kind of task, and what its payload holds: whoever plans one is held to it by the compiler, and whoever serves
 * one has the stored payload checked. A field that a released version did not write is optional.
 */
export const TASK_PAYLOADS = {
  // One document: its saga plans them.
  /** `knownFrom`: the log position up to which the states of its packs must be known. */
  send: z.object({ ...document, attempt: count, knownFrom: optional }),
  /** `holdKnownAt`: which hold of the gate is meant; `heldAt`: since when. */
  rejudge_at_gate: z.object({ ...document, holdKnownAt: text, heldAt: text }),
  rejudge_suspension: z.object({ ...document, holdKnownAt: text, heldAt: text }),
  upload: z.object({ ...document, attempt: count, round: count }),
  look_up: z.object({ ...document, attempt: count, attemptEndedAt: optional, round: z.exactOptional(count) }),
  status: sent,
  receipt: sent,
  download: sent,
  /** `finalOnly`: tell of an end only when nothing can revise it. */
  note_predecessor: z.object({ ...document, ...predecessor }),
  /**
   * `cursor`: the last dependent that the page before has told. `by`: the document that was sent again in place of the
   * predecessor, and was accepted.
   */
  release_dependents: z.object({ ...document, predecessor: text, cursor: optional, by: optional }),
  /** `requestId` may be a group's in these three. */
  lapse_holds: z.object({ ...document, isGroup: yes }),
  // Whoever decides by items plans these.
  wait_for_items: z.object({ ...document, isGroup: yes, round: count, for: z.array(itemPredecessor) }),
  lift_item_wait: z.object({ ...document, isGroup: yes, predecessor: text }),
  refuse_ring: z.object({ ...document, isGroup: yes, ring: z.array(reference) }),
  // One group: its saga plans them, and those of its members.
  group_check: z.object(ofGroup),
  group_start: z.object({ ...ofGroup, attempt: count }),
  group_look: z.object({ ...ofGroup, attempt: count, attemptEndedAt: optional }),
  /** `haltedAt`: since when its members are looked at; the longer, the less often. */
  settle_group: z.object({ ...ofGroup, haltedAt: optional }),
  /** `inWork`: also what the registry shows as in work, as a person says. */
  conclude_members: z.object({ ...ofGroup, haltedAt: optional, inWork: yes }),
  /**
   * How the member `requestId` goes. `version`: of the event by which it ended so; what an older one tells counts no
   * more.
   */
  note_member: z.object({
    ...ofGroup,
    requestId: text,
    documentId: optional,
    outcome: z.exactOptional(z.enum(DOCUMENT_OUTCOMES)),
    cause: z.exactOptional(z.enum(FAILURE_CAUSES)),
    version: z.exactOptional(count),
  }),
  note_group_predecessor: z.object({ ...ofGroup, ...predecessor }),
  // A document of others: its saga plans them, and the reader of lists.
  inbound_status: z.object({ ...inbound, isLastWord: yes }),
  inbound_download: z.object(inbound),
  inbound_receipt: z.object(inbound),
  /** `plannedAt`: log position of the event that planned it. */
  inbound_link: z.object({ ...inbound, plannedAt: optional }),
  note_listed: z.object({ ...inbound, seen }),
  /** `acceptedAt`: when the registry accepted it. `plannedAt`: log position of the event that planned it. */
  seek_contents: z.object({ ...inbound, acceptedAt: optional, plannedAt: text }),
  /** The content of a container: its saga plans it. `documentId`: the arrival for which it is asked. */
  container_content: z.object({ sscc: text, account: text, documentId: text }),
  list_incoming: listed,
  list_outgoing: listed,
  // What people and the ERP ask for: the gateway plans them.
  run_command: z.union([
    z.object({ registration, actor, reason: optional }),
    z.object({ group, actor, reason: optional }),
  ]),
  decide_hold: z.object({
    requestId: text,
    isGroup: yes,
    decision: z.enum(['release', 'end']),
    predecessors: z.array(text),
    missing: z.exactOptional(z.array(text)),
    /** Of a group that is not held: the start of unknown outcome, and whether what is in work is ended too. */
    start: z.exactOptional(count),
    inWork: yes,
    actor,
    reason: text,
  }),
  /** A person holds a document that was not sent. `holds`: how often it had been held when that was asked. */
  hold_document: z.object({ requestId: text, actor, reason: text, holds: z.exactOptional(count) }),
  /** A person has what was given up of a document of others asked for again. `account`: through whom. */
  ask_inbound_again: z.object({ documentId: text, account: text, actor, reason: text }),
  /** `replanId`: the version at which it stands, and the day: two calls about one stand are one. */
  replan: z.object({ kind: z.enum(['document', 'group']), id: text, replanId: text }),
  retry_parked: z.object({ saga: text, key: text }),
  reconcile_documents: z.object({ runId: text }),
  // The registry's packs for a comparison.
  plan_fetch: z.object({ fetchId: text }),
  fetch_sgtins: fetched,
  fetch_sgtins_by_list: fetched,
  fetch_archived_sgtins: fetched,
  // The same by an export, step by step.
  seek_pack_export: fetched,
  order_pack_export: fetched,
  await_pack_export: fetched,
  find_pack_export_result: fetched,
  download_pack_export: fetched,
  remove_pack_export: fetched,
  fetch_containers: fetched,
  // The registry's list of suspended packs: the worker's own, again and again, and what it has read.
  watch_suspensions: z.object({}),
  /** Of a version before: it ends. */
  suspended_list: z.object({ account: text }),
  fetch_suspended_sgtins: fetched,
  fetch_suspension_decisions: fetched,
  /** What changed, at most twenty of them, and how many in all. Absent `to`: to all receivers. */
  mail_suspensions: z.object({ suspensions: z.array(text), count, to: text.optional() }),
};

export type TaskKind = keyof typeof TASK_PAYLOADS;
export type PayloadOf<Kind extends TaskKind> = z.infer<(typeof TASK_PAYLOADS)[Kind]>;

/** A task as it is planned; the task table's shape. */
export type PlannedTask<Kind extends TaskKind = TaskKind> = {
  [One in Kind]: { key: string; kind: One; lane: string; priority?: number; dueAt: Date; payload: PayloadOf<One> };
}[Kind];
