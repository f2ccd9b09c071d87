import { HASH_BYTES, hashesInTiles, type Hash, type ReadHashes } from '#merkle';
import type { Pool } from '#postgres';
import { tilesIn } from './tile-table.js';

/** About five megabytes. */
const MOST_NODES = 16_384;

interface KnownTree {
  breaks: number;
  nodes: Map<string, Hash>;
}

const trees = new WeakMap<Pool, KnownTree>();

/**
 * The hashes of complete subtrees of the log, kept for all proofs of this process: within one tree none is ever changed
 * by us. Whether somebody else has changed one shows where a path does not lead to the signed root; then `forget`, and
 * read again. The least recently used one goes first.
 */
export function knownNodes(pool: Pool, breaks: number): { read: ReadHashes; forget: () => void } {
  let tree = trees.get(pool);
  if (tree?.breaks !== breaks) tree = { breaks, nodes: new Map() };
  trees.set(pool, tree);
  const { nodes } = tree;
  const inTiles = hashesInTiles(tilesIn(pool));
  return { read: (asked) => readKnown(nodes, asked, inTiles), forget: () => nodes.clear() };
}

async function readKnown(known: Map<string, Hash>, asked: Parameters<ReadHashes>[0], read: ReadHashes) {
  const names = asked.map(({ level, index }) => `${level}/${index}`);
  const found = names.map((name) => known.get(name));
  const missing = asked.filter((_, i) => found[i] === undefined);
  const fresh = missing.length === 0 ? [] : (await read(missing)).map(alone);
  let next = 0;
  const hashes = found.map((hash) => hash ?? (fresh[next++] as Hash));
  names.forEach((name, i) => {
    known.delete(name);
    known.set(name, hashes[i] as Hash);
  });
  while (known.size > MOST_NODES) known.delete(known.keys().next().value as string);
  return hashes;
}

/** A copy that does not keep the tile, of which it is a part, in memory. */
function alone(hash: Hash): Hash {
  const copy = Buffer.allocUnsafeSlow(HASH_BYTES);
  hash.copy(copy);
  return copy;
}
