import { createHash } from 'node:crypto';

/**
 * Reads a log as somebody else's tool would: written from RFC 6962 and C2SP tlog-tiles alone, with nothing of ours, so
 * that a fault of ours is not on both sides.
 */
export interface WalkedLog {
  origin: string;
  size: number;
  /** Recomputed from the entries. */
  root: Buffer;
  entries: Buffer[];
}

export type GetFile = (path: string) => Promise<Buffer | undefined>;

const sha256 = (...parts: Buffer[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const leafOf = (entry: Buffer): Buffer => sha256(Buffer.of(0), entry);

/** MTH(D[n]) as RFC 6962, 2.1 defines it, over hashes of leaves. */
function mth(leaves: Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), mth(leaves.slice(0, split)), mth(leaves.slice(split)));
}

/** `<N>` of a path: groups of three digits, all but the last behind an x. */
function numberPath(n: number): string {
  let path = String(n % 1000).padStart(3, '0');
  for (let rest = Math.floor(n / 1000); rest > 0; rest = Math.floor(rest / 1000))
    path = `x${String(rest % 1000).padStart(3, '0')}/${path}`;
  return path;
}

/** Walks all entries and all tiles of the checkpoint's tree. Throws where one of them is missing or does not agree. */
export async function walkLog(get: GetFile): Promise<WalkedLog> {
  const need = async (path: string): Promise<Buffer> => {
    const bytes = await get(path);
    if (bytes === undefined) throw new Error(`${path} is missing`);
    return bytes;
  };
  const [origin = '', sizeText = '', rootText = ''] = (await need('checkpoint')).toString('utf8').split('\n');
  const size = Number(sizeText);
  const entries: Buffer[] = [];
  for (let n = 0; n * 256 < size; n += 1) {
    const width = Math.min(256, size - n * 256);
    const path = `tile/entries/${numberPath(n)}${width < 256 ? `.p/${width}` : ''}`;
    entries.push(...bundled(await need(path), width, path));
  }
  const leaves = entries.map(leafOf);
  await checkTiles(leaves, need);
  const root = mth(leaves);
  if (root.toString('base64') !== rootText) throw new Error('the entries do not lead to the root of the checkpoint');
  return { origin, size, root, entries };
}

function bundled(bytes: Buffer, width: number, path: string): Buffer[] {
  const entries: Buffer[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const length = bytes.readUInt16BE(at);
    entries.push(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  if (at !== bytes.length || entries.length !== width) throw new Error(`${path} does not hold ${width} entries`);
  return entries;
}

/** Each level holds the hashes of the full tiles of the level below. */
async function checkTiles(leaves: Buffer[], need: (path: string) => Promise<Buffer>): Promise<void> {
  let hashes = leaves;
  for (let level = 0; hashes.length > 0; level += 1) {
    const above: Buffer[] = [];
    for (let n = 0; n * 256 < hashes.length; n += 1) {
      const own = hashes.slice(n * 256, (n + 1) * 256);
      const path = `tile/${level}/${numberPath(n)}${own.length < 256 ? `.p/${own.length}` : ''}`;
      if (!(await need(path)).equals(Buffer.concat(own))) throw new Error(`${path} is not what the entries lead to`);
      if (own.length === 256) above.push(mth(own));
    }
    hashes = above;
  }
}
