import { EvidenceDamaged, type EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import { answersIn } from '#proofs';
import type { Report } from './finding.js';
import type { ReadLeaf } from './read-leaves.js';

type Store = Pick<EvidenceStore, 'get' | 'lengths'>;
/** Which event names each piece. */
type Named = Map<Sha256, ReadLeaf>;

/** The evidence that events name must be there, and the evidence that this names. */
export async function holdNamed(store: Store, events: ReadLeaf[], report: Report): Promise<void> {
  const named: Named = new Map(events.flatMap((event) => event.evidence.map((sha256) => [sha256, event] as const)));
  for (const event of events)
    if (event.list !== undefined)
      for (const sha256 of await namedByList(store, event.list)) if (!named.has(sha256)) named.set(sha256, event);
  if (named.size === 0) return;
  const there = await store.lengths([...named.keys()]);
  for (const [sha256, { words }] of named)
    if (!there.has(sha256))
      await report({
        what: 'evidence',
        where: `evidence ${sha256}, named by ${words}`,
        expected: 'bytes with this digest',
        found: 'nothing',
      });
}

/** None where the list itself is gone or damaged: that is a finding of its own. */
async function namedByList(store: Store, list: Sha256): Promise<Sha256[]> {
  try {
    return answersIn((await store.get(list))?.bytes.toString('utf8') ?? '');
  } catch (error) {
    if (error instanceof EvidenceDamaged) return [];
    throw error;
  }
}
