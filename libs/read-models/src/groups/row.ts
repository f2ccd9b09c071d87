import type { AfterHold, DocumentOutcome, DocumentReference, GroupKind, HaltCause } from '#domain';
import type { Sha256 } from '#kernel';

/** A predecessor that ended badly, as the tables of documents and groups keep it. */
export interface HeldFor {
  commandId: string;
  requestId: string;
  outcome: AfterHold['outcome'];
  /** ISO 8601. */
  since: string;
}

/** Where a group stands, in the operator's words. */
export const GROUP_PHASES = [
  'waiting',
  'held',
  'sending',
  'checking',
  'starting',
  'unconfirmed',
  'started',
  'halted',
  'concluded',
] as const;
export type GroupPhase = (typeof GROUP_PHASES)[number];

/** One row of `document_group`, as the fold makes it and the table keeps it. */
export interface GroupRow {
  groupId: string;
  /** Log position of the registration: the order of the list. */
  registeredPosition: bigint;
  /** Log position of the newest event in this row. */
  position: bigint;
  commandId: string;
  reference: string | null;
  account: string;
  kind: GroupKind;
  phase: GroupPhase;
  waitingFor: DocumentReference[];
  /** Predecessors that ended badly. */
  heldFor: HeldFor[];
  memberCount: number;
  sentCount: number;
  endedCount: number;
  outcome: DocumentOutcome | null;
  halt: HaltCause | null;
  /** Command and outcome of the member, or of the predecessor, that stopped it. */
  stoppedBy: string | null;
  /** The registry's words where it would not begin, or what is not known. */
  problem: string | null;
  /** The document that was split. */
  documentSha256: Sha256 | null;
  itemCount: number;
  /** Ids of groups. */
  resumes: string | null;
  resumedBy: string | null;
  registeredAt: Date;
  startedAt: Date | null;
  concludedAt: Date | null;
}
