import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfFile, parquet, type Duck, type FileStore, type StoredFile } from '#duckdb';
import { sha256Hex, type Sha256 } from '#kernel';
import type { Base } from './fold/changed.js';
import type { Movements } from './fold/documents.js';
import type { States } from './fold/state.js';
import type { Segment } from './segments.js';

/**
 * Of what a fold makes of movements. A change that gives another state to any pack raises it, so that no state by other
 * rules is built upon. earlier-state.prop.int.spec.ts holds it against a digest.
 */
export const STATE_RULES = 1;

/** One set: the state of the furthest position that was asked for. Its draft is emptied by the next one. */
const SET = 'last';
const MANIFEST = 'base.json';

/** What a fold reads: segments in their order, and after theirs the files of the tail. */
export interface Told {
  used: readonly Segment[];
  movements: Movements;
}

interface Manifest {
  rules: number;
  at: string;
  /** The end of the last segment that lies within. */
  sealedTo: string;
  /** Of all that was told up to `at`. */
  told: Sha256;
  files: StoredFile[];
}

/**
 * The state that was kept, when its rules are these, its position is not behind `at`, everything told up to it is as it
 * was, and each file has its SHA-256. Its files are copied first: another process may replace them at any moment.
 */
export async function trustedBase(
  store: FileStore,
  duck: Duck,
  { at, ...told }: Told & { at: bigint },
): Promise<Base | undefined> {
  const kept = await readManifest(store);
  if (kept?.rules !== STATE_RULES || BigInt(kept.at) > at) return undefined;
  if (kept.told !== (await digestOfTold(duck, { ...told, at: BigInt(kept.at), sealedTo: BigInt(kept.sealedTo) })))
    return undefined;
  const folder = join(duck.temporary, 'base');
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const { name, sha256 } of kept.files) {
    const file = join(folder, name);
    const isCopied = await copyFile(store.path(SET, name), file).then(
      () => true,
      () => false,
    );
    if (!isCopied || (await digestOfFile(file)).sha256 !== sha256) return undefined;
    files.push(file);
  }
  return { at: BigInt(kept.at), files };
}

/** Keeps a state for later ones, unless one of a further position is there. Only one process does so at a time. */
export async function keepState(
  store: FileStore,
  duck: Duck,
  { states, folder, ...told }: Told & { states: States; folder: string },
): Promise<void> {
  const [at, kept] = [BigInt(states.at), await readManifest(store)];
  if (kept?.rules === STATE_RULES && BigInt(kept.at) >= at) return;
  const draft = await store.draft(SET);
  const files: StoredFile[] = [];
  for (const { file: name } of states.buckets) {
    await copyFile(join(folder, name), join(draft, name));
    files.push({ name, ...(await digestOfFile(join(draft, name))) });
  }
  const sealedTo = told.used.findLast(({ to }) => to <= at)?.to ?? 0n;
  const manifest: Manifest = {
    ...{ rules: STATE_RULES, at: states.at, sealedTo: String(sealedTo), files },
    told: await digestOfTold(duck, { ...told, at, sealedTo }),
  };
  await writeFile(join(draft, MANIFEST), JSON.stringify(manifest));
  // A crash before the set is there whole leaves no state, and the next one is folded from everything.
  await store.keep(SET);
}

/** Undefined when there is none, or it is no manifest. */
async function readManifest(store: FileStore): Promise<Manifest | undefined> {
  const text = await readFile(store.path(SET, MANIFEST), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Manifest;
  } catch {
    return undefined;
  }
}

/** By file: where the position stands of which a row tells, and what of a row tells something. */
const TOLD: [keyof Movements, position: string, row: string][] = [
  ['packs', 'known_from', 'x.item, x.known_from, x.ordinal, x.effect'],
  ['containers', 'known_from', 'x.item, x.known_from, x.ordinal, x.effect'],
  ['documents', 'known_from', 'x'],
  ['effects', 'known_from', 'x'],
  ['closings', 'known_to', 'x.known_from, x.known_to'],
];

/** Whole segments by the SHA-256 of their files, and what was told after them by a sum of hashes of its rows. */
async function digestOfTold(
  duck: Duck,
  { used, movements, at, sealedTo }: Told & { at: bigint; sealedTo: bigint },
): Promise<Sha256> {
  const whole = used.filter(({ to }) => to <= sealedTo);
  const lines = whole.map(({ from, to, format, files }) => JSON.stringify([String(from), String(to), format, files]));
  for (const [name, position, row] of TOLD) {
    const [sum] = await duck.rows<{ n: bigint; hash: string }>(
      `SELECT count(*) AS n, coalesce(sum(hash(${row})::HUGEINT), 0)::VARCHAR AS hash
       FROM ${parquet(movements[name].slice(whole.length))} x WHERE ${position} > ${sealedTo} AND ${position} <= ${at}`,
    );
    lines.push(`${name} ${sum?.n} ${sum?.hash}`);
  }
  return sha256Hex(lines.join('\n'));
}
