import type { JsonObject } from '#kernel';
import type { Task } from './port.js';

/** A row that a claim answers: a task with its lease, or a lane without one. */
export interface ClaimRow {
  lane_name: string;
  next_ms: number | null;
  id: bigint | null;
  lease: string;
  key: string;
  kind: string;
  priority: number;
  due_ms: number;
  attempts: number;
  lease_expired_before: boolean;
  leases_lost: number;
  claimed_ms: number;
  payload: string;
}

export function leaseOf({ key, lease }: Task): { id: string; number: string } {
  const [id, number] = lease.split(':');
  if (id === undefined || number === undefined)
    throw new Error(`task ${key} carries no lease: only claimed tasks are settled`);
  return { id, number };
}

/** In the order in which the lane is served. */
export const inOrder = (tasks: Task[]): Task[] =>
  tasks.sort(
    (a, b) =>
      a.priority - b.priority ||
      a.dueAt.getTime() - b.dueAt.getTime() ||
      Number(BigInt(leaseOf(a).id) - BigInt(leaseOf(b).id)),
  );

export function taskOf(row: ClaimRow): Task {
  return {
    key: row.key,
    kind: row.kind,
    lane: row.lane_name,
    priority: row.priority,
    dueAt: new Date(row.due_ms),
    payload: JSON.parse(row.payload) as JsonObject,
    attempts: row.attempts,
    leaseExpiredBefore: row.lease_expired_before,
    leasesLost: row.leases_lost,
    lease: row.lease,
    claimedAt: new Date(row.claimed_ms),
  };
}
