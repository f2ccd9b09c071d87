import type { PlannedTask } from '../task/task.js';

export type { PlannedTask };

/** The registry's times, from the profile (registry-interface 8; principles 6.5). All in milliseconds. */
export interface DocumentRules {
  statusAfterSendMs: number;
  receiptAfterStatusMs: number;
  statusPollMs: number;
  failedGraceMs: number;
  unknownGraceMs: number;
  /** Status reads are put on this grid, so that one page of the outgoing list serves all that are due together. */
  statusGridMs: number;
  /** Least time between two look-ups of one document. */
  lookUpEveryMs: number;
  /** First sends are planned by whoever decides which documents wait by their items (libs/item-claims). */
  itemsDecide?: true;
}

/** A task about a group as a whole. */
export type PlannedGroupTask = PlannedTask<
  | 'group_check'
  | 'group_start'
  | 'group_look'
  | 'settle_group'
  | 'conclude_members'
  | 'note_member'
  | 'note_group_predecessor'
>;

/** Something that comes after another document or group. */
export interface Dependent {
  requestId: string;
  account: string;
  kind?: 'group';
}

/** A dependent as it is kept in a row of its own (libs/subscriptions). */
export interface DependentRow {
  dependent: string;
  data: { account: string; kind?: 'group' };
}

export const later = (at: Date, delayMs: number): Date => new Date(at.getTime() + delayMs);

/** The next moment on a grid: tasks that are due there together can share a call. */
export const onGrid = (at: Date, gridMs: number): Date => new Date(Math.ceil(at.getTime() / gridMs) * gridMs);
