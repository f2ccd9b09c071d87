import type { EventStore } from '#event-store';
import { appended, hashesInTiles, rootOf, type Hash, type Node, type ReadHashes } from '#merkle';
import { COUNT_STREAM, leafOf } from '#proofs';
import { tilesIn } from '#sealed-log';
import { SWEEP_STREAM } from '../../../../apps/auditor/src/sweep/sweep-events.js';
import { eventsOf } from '../../../support/event-log/events-of.js';
import type { Ended, Subject } from '../subject.js';

/**
 * What the auditor records itself. It stops last, so the last of these may wait in the log for its next start.
 */
const ITS_OWN = new Set([SWEEP_STREAM, COUNT_STREAM]);

/**
 * The auditor, killed as others are, has sealed every event once and in order: its tree, and each checkpoint that it
 * signed, are those of the log.
 */
export const audit: Subject = { name: 'audit', check };

async function check({ pool, log }: Ended): Promise<string[]> {
  const { leaves, others } = await readLog(log.store);
  const { rows } = await pool.query<{ size: string }>('SELECT size::text FROM audit_tree');
  const size = Number(rows[0]?.size ?? 0);
  if (size > leaves.length || size < others)
    return [`the auditor has sealed ${size} events, and the log has ${leaves.length}`];
  const read = await treeOf(leaves.slice(0, size));
  const sealed = await rootOf(size, hashesInTiles(tilesIn(pool)));
  const found = sealed.equals(await rootOf(size, read)) ? [] : [`the tree of ${size} events is not that of the log`];
  const { rows: signed } = await pool.query<{ size: string; root: Buffer }>(
    'SELECT size::text, root FROM audit_checkpoint ORDER BY size',
  );
  if (signed.length === 0) found.push('no checkpoint was signed');
  for (const one of signed) {
    if (!one.root.equals(await rootOf(Number(one.size), read)))
      found.push(`the checkpoint of ${one.size} events is not that of the log`);
  }
  return found;
}

/** Read anew, for what was read meanwhile may have been changed since. `others` reaches to their last event. */
async function readLog(store: EventStore): Promise<{ leaves: Hash[]; others: number }> {
  const leaves: Hash[] = [];
  let others = 0;
  for await (const event of eventsOf(store)) {
    leaves.push(leafOf(event));
    if (!ITS_OWN.has(event.stream)) others = leaves.length;
  }
  return { leaves, others };
}

/** The tree by its definition, beside what the auditor made of it page by page. */
async function treeOf(leaves: Hash[]): Promise<ReadHashes> {
  const nameOf = ({ level, index }: Node): string => `${level}/${index}`;
  const hashes = new Map((await appended(0, leaves, async () => [])).map(({ node, hash }) => [nameOf(node), hash]));
  return async (nodes) => nodes.map((node) => hashes.get(nameOf(node)) as Hash);
}
