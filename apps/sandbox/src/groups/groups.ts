import { createHash } from 'node:crypto';
import { canonicalUuid } from '#kernel';
import type { SandboxSettings } from '../config.js';
import type { RegistryDocument } from '../documents/document.js';
import type { JournalRecord } from '../journal/journal.js';

export type GroupRecord = Extract<JournalRecord, { k: 'group' }>;

interface Group {
  id: string;
  members: RegistryDocument[];
  /** How long each member takes once it is its turn, in virtual ms. */
  takesMs: number[];
  /** Whether a partial result stops the group as an error does. */
  partialStops: boolean;
  /** Members that had their turn. */
  turns: number;
  state: GroupState;
}

/** `stopped`: a member ended in error and the ones behind it are not processed. */
type GroupState = 'running' | 'done' | 'stopped';

/** What became of a member, for the control port. */
type MemberState = 'concluded' | 'in_work' | 'waiting' | 'not_processed';

const MAX_CHECKED = 10_000;
const keyOf = (account: string, requestIds: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([account, requestIds.map(canonicalUuid)]))
    .digest('base64url');

/** Groups of documents that are processed one after the other, until the first error (registry-interface 3.2, 4.1). */
export class Groups {
  private readonly groups = new Map<string, Group>();
  /** User and members of the checks that said yes. */
  private readonly checked = new Set<string>();

  /**
   * `add`: hands a document whose turn it is to processing. `statuses`: what members show that are not in work.
   * `plain`: UPLOADING_DOCUMENT before the start, and PROCESSING_DOCUMENT for ever behind one in error; `other`:
   * PROCESSING_DOCUMENT before the start, and FAILED behind one in error.
   */
  constructor(
    private readonly add: (document: RegistryDocument) => void,
    private readonly statuses: SandboxSettings['groupStatuses'],
  ) {}

  /** Starts a group: its first member gets its turn. The same for a start and for its replay. */
  start(record: GroupRecord, members: RegistryDocument[]): void {
    const group: Group = {
      id: record.g,
      members,
      takesMs: record.ms,
      partialStops: record.partial,
      turns: 0,
      state: 'running',
    };
    this.groups.set(group.id, group);
    for (const member of members) {
      member.group = group.id;
      member.waits = 'group_turn';
    }
    this.turn(group, record.v);
  }

  /** Notes that a user was told that these documents, in this order, can be started. */
  noteChecked(account: string, requestIds: readonly string[]): void {
    this.checked.add(keyOf(account, requestIds));
    const [oldest] = this.checked;
    if (this.checked.size > MAX_CHECKED && oldest !== undefined) this.checked.delete(oldest);
  }

  wasChecked(account: string, requestIds: readonly string[]): boolean {
    return this.checked.has(keyOf(account, requestIds));
  }

  /** After a member's verdict: the next one's turn, or the end. */
  concluded(document: RegistryDocument): void {
    const group = document.group === undefined ? undefined : this.groups.get(document.group);
    if (group === undefined) return;
    if (!endsInError(document, group)) return this.turn(group, document.dueVirtualMs);
    group.state = 'stopped';
    if (this.statuses === 'plain') return;
    const { dueVirtualMs, changedRealMs } = document;
    for (const one of group.members.slice(group.turns))
      Object.assign(one, { status: 'failed', dueVirtualMs, changedRealMs } satisfies Partial<RegistryDocument>);
  }

  /** Every group with its members and what became of them. */
  truth(): unknown[] {
    return [...this.groups.values()].map((group) => ({
      group: group.id,
      state: group.state,
      partial_stops: group.partialStops,
      members: group.members.map((member, at) => ({
        request_id: member.requestId,
        document_id: member.documentId,
        state: memberState(group, at),
      })),
    }));
  }

  private turn(group: Group, fromVirtualMs: number): void {
    const member = group.members[group.turns];
    if (member === undefined) {
      group.state = 'done';
      return;
    }
    member.waits = undefined;
    member.dueVirtualMs = fromVirtualMs + (group.takesMs[group.turns] ?? 0);
    group.turns += 1;
    this.add(member);
  }
}

function endsInError({ verdict }: RegistryDocument, group: Group): boolean {
  if (verdict?.kind !== 'receipt') return true;
  return verdict.result === 'Rejected' || (verdict.result === 'Partial' && group.partialStops);
}

function memberState(group: Group, at: number): MemberState {
  if (at < group.turns) return group.members[at]?.verdict === undefined ? 'in_work' : 'concluded';
  return group.state === 'stopped' ? 'not_processed' : 'waiting';
}
