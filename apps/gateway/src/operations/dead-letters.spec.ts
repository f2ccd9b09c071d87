import { expect, it } from '@jest/globals';
import type { DeadLetter } from '#bus';
import { PedigreeError, sha256Hex } from '#kernel';
import { DeadLetters, type DeadLettersOptions } from './dead-letters.js';

/** As the store of evidence has it. */
const MOST_BYTES = 64 * 1024 * 1024;

function evidenceInMemory() {
  const blobs = new Map<string, Buffer>();
  const put = async (bytes: Uint8Array) => {
    if (bytes.length > MOST_BYTES) throw new PedigreeError('body_too_large', 'at most 64 MiB are stored as one piece');
    const sha256 = sha256Hex(bytes);
    blobs.set(sha256, Buffer.from(bytes));
    return sha256;
  };
  const get = async (sha256: string) => {
    const bytes = blobs.get(sha256);
    return bytes && { bytes, mediaType: 'text/plain' };
  };
  return { blobs, evidence: { put, get } };
}

function busWith(letter: DeadLetter) {
  let lies: DeadLetter | undefined = letter;
  return {
    deadLetters: async () => (lies === undefined ? [] : [lies]),
    deadLetter: async () => lies,
    replay: async () => true,
    discard: async () => ((lies = undefined), true),
  };
}

it.each([
  ['empty', 0],
  ['small', 7],
  ['larger than one piece of evidence may be', MOST_BYTES + 7],
])('a letter that is %s is discarded, and shown with its whole body', async (_, length) => {
  const body = Buffer.alloc(length, 'abc');
  const letter = { id: 'l-1', body, bodyBytes: length, contentType: 'text/plain', headers: {}, code: 'body_too_large' };
  const { blobs, evidence } = evidenceInMemory();
  const events: object[] = [];
  const append = async (stream: string, __: unknown, appended: object[]) =>
    events.push(...appended.map((one) => ({ ...one, stream, version: events.length, recordedAt: new Date(0) })));
  const readStream = async (___: string, { fromVersion = 0 }: { fromVersion?: number } = {}) =>
    events.slice(fromVersion);
  const letters = new DeadLetters({
    bus: busWith({ ...letter, reason: 'too large', deadAt: new Date(0), deliveries: 1 }),
    store: { append, readStream } as unknown as DeadLettersOptions['store'],
    evidence: evidence as unknown as DeadLettersOptions['evidence'],
    ...{ participant: 'own', softwareVersion: '1', profile: 'none' },
  });
  await letters.discard('l-1', 'a test', { kind: 'person', name: 'a', authenticatedBy: 'test' });
  const shown = await letters.find('l-1');
  expect([shown.body.equals(body), shown.bodyBytes, shown.discarded?.reason]).toEqual([true, length, 'a test']);
  expect([...blobs.values()].reduce((sum, one) => Math.max(sum, one.length), 0)).toBeLessThanOrEqual(MOST_BYTES);
  expect(shown).not.toHaveProperty('furtherSha256');
});
