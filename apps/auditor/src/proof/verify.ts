import { canonicalJson, PedigreeError } from '#kernel';
import { checkInclusion, leafHash, openNote, parseCheckpoint, parseVerifierKey, type Checkpoint } from '#merkle';
import type { ProofBundle } from './bundle.js';

export interface Verified {
  checkpoint: Checkpoint;
  events: { leaf: number; stream: string; type: string; recordedAt: string }[];
}

/**
 * Checks a proof with nothing but the file and the key that the auditor was given beforehand: the signature of the
 * checkpoint, and for each event that it is the leaf that it claims to be. Throws PedigreeError `invalid_parameter`
 * that names what does not hold.
 */
export function verifyBundle(bundle: ProofBundle, verifierKey: string): Verified {
  const checkpoint = refusing('/checkpoint', () =>
    parseCheckpoint(openNote(bundle.checkpoint, parseVerifierKey(verifierKey))),
  );
  const events = bundle.events.map(({ leaf, event, path }, i) => {
    const bytes = Buffer.from(event, 'utf8');
    const claim = {
      leaf: leafHash(bytes),
      index: leaf,
      size: checkpoint.size,
      root: checkpoint.root,
      path: path.map((hash) => Buffer.from(hash, 'hex')),
    };
    if (!checkInclusion(claim))
      throw doesNotHold(`/events/${i}`, 'is not the leaf of the signed log that it claims to be');
    const { stream, type, recordedAt } = refusing(`/events/${i}/event`, () => canonicalEvent(event));
    return { leaf, stream, type, recordedAt };
  });
  return { checkpoint, events };
}

function canonicalEvent(text: string): { stream: string; type: string; recordedAt: string } {
  const event = JSON.parse(text) as { stream: string; type: string; recordedAt: string };
  if (canonicalJson(event) !== text) throw new Error('is not canonical JSON (RFC 8785)');
  return event;
}

function refusing<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw doesNotHold(field, (error as Error).message);
  }
}

const doesNotHold = (field: string, why: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${field}: ${why}`, { field });
