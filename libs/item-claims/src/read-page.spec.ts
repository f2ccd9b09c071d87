import { expect, it } from '@jest/globals';
import type { DocumentFacts } from '#documents';
import { EvidenceDamaged, type EvidenceStore } from '#evidence';
import { factsOf } from '../test/given-document.js';
import { P, Q } from '../test/item-world.js';
import { readEvidence, readPage, type ClaimEvent } from './read-page.js';

const registered = (docType: number, itemCount: number): ClaimEvent =>
  ({ type: 'DocumentRegistered', position: 1n, data: { requestId: 'r', docType, itemCount } }) as ClaimEvent;
const parts = { evidence: {} as EvidenceStore, documents: { readDocument: fail, readForeignDocument: fail } };

function fail(): never {
  throw new Error('nothing is read');
}

/** How many of these one transaction takes. None claims, so none is read. */
const taken = async (events: ClaimEvent[]): Promise<number> =>
  (await readPage(events, parts, () => false)).events.length;

it('a page ends with the document that fills it, and with a recall, whose operation may have as many items', async () => {
  const small = registered(415, 1);
  expect(await taken([small, registered(415, 24_998), small, small, small])).toBe(3);
  expect(await taken([small, registered(250, 0), small])).toBe(2);
});

it('a damaged document claims nothing, as one that is missing, and holds up no other', async () => {
  const digests = ['a', 'b', 'c', 'd'].map((one) => one.repeat(64)) as [string, string, string, string];
  const [first, damaged, alsoDamaged, last] = digests;
  const blobs = new Map([first, last].map((one, n) => [one, Buffer.from([P, Q][n] as string)]));
  const evidence = {
    lengths: () => Promise.resolve(new Map()),
    getMany: (asked: string[]) => {
      const bad = asked.find((one) => one === damaged || one === alsoDamaged);
      if (bad !== undefined) return Promise.reject(new EvidenceDamaged(bad, 'a byte is another'));
      return Promise.resolve(new Map([...blobs].filter(([one]) => asked.includes(one))));
    },
  } as unknown as EvidenceStore;
  const readDocument = (bytes: Uint8Array) => factsOf({ items: [Buffer.from(bytes).toString()] }) as DocumentFacts;
  const events = digests.map((documentSha256) => {
    const event = registered(415, 1);
    return { ...event, data: { ...event.data, documentSha256 } } as ClaimEvent;
  });
  const page = await readPage(events, { evidence, documents: { ...parts.documents, readDocument } }, () => true);
  expect(page.events).toHaveLength(4);
  expect([...page.named].map(([sha256, { items }]) => [sha256, items[0]?.item])).toEqual([
    [first, P],
    [last, Q],
  ]);
  expect(await readEvidence(damaged, { evidence }, fail)).toBeUndefined();
});
