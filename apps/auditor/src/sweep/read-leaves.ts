import { randomBytes } from 'node:crypto';
import { readStored, type EventStore, type RecordedEvent, type StoredEvent } from '#event-store';
import type { Sha256 } from '#kernel';
import { HASH_BYTES, type Hash } from '#merkle';
import type { Pool } from '#postgres';
import { evidenceIn, type LeafForm, leafOf, listOfAnswersIn } from '#proofs';
import { leafOfStored } from './stored-leaf.js';

/** An event of the log as a sweep needs it. */
export interface ReadLeaf {
  position: bigint;
  form: LeafForm;
  hash: Hash;
  /** Its leaf in another form, where it is not known yet in which it was sealed. */
  other?: { form: LeafForm; hash: Hash } | undefined;
  /** Which event it is. */
  words: string;
  /** Evidence that it names. */
  evidence: Sha256[];
  /** A piece of it that names further evidence. */
  list: Sha256 | undefined;
  bytes: number;
}

/** In which form leaves are here; the likelier first where both may be. */
type Forms = [LeafForm] | [LeafForm, LeafForm];

function inForms([form, other]: Forms, hash: (form: LeafForm) => Hash): Pick<ReadLeaf, 'form' | 'hash' | 'other'> {
  return { form, hash: hash(form), other: other === undefined ? undefined : { form: other, hash: hash(other) } };
}

/** The same leaf in its other form. */
export const turned = (leaf: ReadLeaf): ReadLeaf =>
  leaf.other === undefined ? leaf : { ...leaf, ...leaf.other, other: { form: leaf.form, hash: leaf.hash } };

type Named = Pick<StoredEvent, 'type' | 'version' | 'stream' | 'position'>;

export const wordsOf = ({ type, version, stream, position }: Named): string =>
  `${type}, version ${version} of ${stream}, at position ${position}`;

const namedIn = (type: string, data: string): Pick<ReadLeaf, 'evidence' | 'list'> => ({
  evidence: evidenceIn(data),
  list: listOfAnswersIn(type, data),
});

/** What no event is as a leaf. Nobody who can write to the database knows it. */
const NO_LEAF: Hash = randomBytes(HASH_BYTES);

/** A row that is no event, as one with the time `infinity`, is no leaf. */
function leafOfRow(event: StoredEvent, form: LeafForm): Hash {
  try {
    return leafOfStored(event, form);
  } catch {
    return NO_LEAF;
  }
}

const ofStored = (event: StoredEvent, forms: Forms): ReadLeaf => ({
  position: event.position,
  ...inForms(forms, (form) => leafOfRow(event, form)),
  words: wordsOf(event),
  ...namedIn(event.type, event.data.toString('latin1')),
  bytes: event.data.length + event.metadata.length,
});

function ofRecorded(event: RecordedEvent, forms: Forms): ReadLeaf {
  const data = JSON.stringify(event.data);
  const { position } = event;
  const hashed = inForms(forms, (form) => leafOf(event, form));
  return { position, ...hashed, words: wordsOf(event), ...namedIn(event.type, data), bytes: data.length };
}

/** Events after a position; of the log in PostgreSQL from the bytes of their rows. None: the log ends there. */
export async function readLeaves(
  { pool, store }: { pool: Pool; store: Pick<EventStore, 'readAll' | 'positionUnit'> },
  { after, limit, forms }: { after: bigint; limit: number; forms: Forms },
): Promise<ReadLeaf[]> {
  if (store.positionUnit === 'event')
    return (await readStored(pool, after, limit)).map((event) => ofStored(event, forms));
  let from = after;
  for (;;) {
    const { events, readUpTo } = await store.readAll(from, { limit });
    if (events.length > 0 || readUpTo <= from) return events.map((event) => ofRecorded(event, forms));
    from = readUpTo;
  }
}
