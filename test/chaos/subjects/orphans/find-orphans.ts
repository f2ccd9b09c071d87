import type { Pool } from '#postgres';
import type { CampaignLog, LoggedEvent } from '../../campaign-log.js';

/** A document that is not concluded, and that nothing will ever move on. */
export interface Orphan {
  requestId: string;
  /** Position of its newest event: the same orphan seen again has not moved. */
  position: string;
  lastEvent: string;
  since: Date;
}

const CONCLUSIONS = /^(Document|Group)Concluded$|^(Group)?ConclusionRevised$/;
const LIFTED = /^(Group)?ItemWaitLifted$/;
const SUCCEEDED = new Set(['accepted', 'partial']);

/** A document or a group, as its stream tells of it. */
interface Owner {
  id: string;
  isGroup: boolean;
  types: string[];
  /** Of its newest event, as `since`. */
  position: bigint;
  since: Date;
  /** All that it was ever told to wait for: by its command, and by its items. */
  waitedFor: string[];
  groupId: string | undefined;
  isConcluded: boolean;
  succeeded: boolean;
}

/**
 * Documents without a conclusion that have no task and no parked instance, and that wait for nothing that is still to
 * come: neither for a predecessor that has not succeeded yet, nor for their group while it, or another member of it,
 * has something to do. What the saga has not seen yet is left out. The log is read last: a task that is gone by then
 * has its event there.
 */
export async function findOrphans(pool: Pool, log: CampaignLog): Promise<Orphan[]> {
  const { busy, seenUpTo } = await momentOf(pool);
  const owners = new Map(
    [...(await log.streams('document-', 'group-')).values()].map(ownerOf).map((owner) => [owner.id, owner]),
  );
  // What the saga has not seen of one may be about to move others: its group, its members, those who wait for it.
  for (const { id, position } of owners.values()) if (position > seenUpTo) busy.add(id);
  const busyGroups = new Set(
    [...owners.values()]
      .filter(({ id, groupId }) => groupId !== undefined && busy.has(id))
      .map(({ groupId }) => groupId),
  );
  // A task that tells those who wait bears the name of what they wait for.
  const waits = (owner: Owner): boolean => isWaiting(owner, owners) || owner.waitedFor.some((id) => busy.has(id));
  const hasNext = (owner: Owner): boolean => {
    if (busy.has(owner.id) || waits(owner)) return true;
    const { groupId } = owner;
    if (groupId === undefined) return owner.isGroup && busyGroups.has(owner.id);
    const group = owners.get(groupId);
    return busy.has(groupId) || busyGroups.has(groupId) || (group !== undefined && waits(group));
  };
  return [...owners.values()]
    .filter((owner) => !owner.isGroup && !owner.isConcluded && owner.position <= seenUpTo && !hasNext(owner))
    .map(({ id, position, types, since }) => ({
      requestId: id,
      position: position.toString(),
      lastEvent: types.at(-1) as string,
      since,
    }));
}

/**
 * Every id that the key of a task or of a parked instance names, and how far both have come that plan tasks: in one
 * statement, for they plan and move their checkpoints together.
 */
async function momentOf(pool: Pool): Promise<{ busy: Set<string>; seenUpTo: bigint }> {
  const { rows } = await pool.query<{ key: string; position: string }>(
    `SELECT key, '0' AS position FROM task UNION ALL SELECT key, '0' FROM parked_instance
     UNION ALL SELECT '', coalesce(min(position), 0)::text FROM checkpoint
       WHERE name IN ('saga:document', 'item-claims')`,
  );
  return {
    busy: new Set(rows.flatMap(({ key }) => key.split(':'))),
    seenUpTo: rows.reduce((most, { position }) => (BigInt(position) > most ? BigInt(position) : most), 0n),
  };
}

function ownerOf(life: LoggedEvent[]): Owner {
  const [first, newest] = [life[0], life.at(-1)] as [LoggedEvent, LoggedEvent];
  const { after = [], group } = first.data as { after?: { requestId: string }[]; group?: { groupId: string } };
  const conclusion = life.findLast(({ type }) => CONCLUSIONS.test(type));
  const { outcome = '' } = (conclusion?.data ?? {}) as { outcome?: string };
  return {
    id: first.stream.slice(first.stream.indexOf('-') + 1),
    isGroup: first.stream.startsWith('group-'),
    types: life.map(({ type }) => type),
    position: newest.position,
    since: newest.recordedAt,
    waitedFor: [...after, ...life.flatMap(itemPredecessorsOf)].map(({ requestId }) => requestId),
    groupId: group?.groupId,
    isConcluded: conclusion !== undefined,
    succeeded: SUCCEEDED.has(outcome),
  };
}

/** Earlier documents of the same items, where it was told to wait for them. A wait that was lifted counts no more. */
function itemPredecessorsOf({ type, data }: LoggedEvent, at: number, life: LoggedEvent[]): { requestId: string }[] {
  const wait = data as { kind?: string; for?: { requestId: string }[] };
  if (!/^(Document|Group)Waiting$/.test(type) || wait.kind !== 'items') return [];
  const lifted = life.slice(at).flatMap((one) => (LIFTED.test(one.type) ? [idOfLifted(one)] : []));
  return (wait.for ?? []).filter(({ requestId }) => !lifted.includes(requestId));
}

const idOfLifted = ({ data }: LoggedEvent): string | undefined =>
  (data as { for?: { requestId: string } }).for?.requestId;

/** Held, and not by predecessors alone that have all succeeded: then somebody forgot to tell it. */
function isWaiting({ types, waitedFor }: Owner, owners: Map<string, Owner>): boolean {
  const last = types.findLast((type) => /^(Document|Group)(Waiting|Held|Released)$/.test(type));
  if (last === undefined || last.endsWith('Released')) return false;
  return last.endsWith('Held') || waitedFor.some((requestId) => owners.get(requestId)?.succeeded !== true);
}
