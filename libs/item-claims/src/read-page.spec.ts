import { expect, it } from '@jest/globals';
import type { EvidenceStore } from '#evidence';
import { readPage, type ClaimEvent } from './read-page.js';

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
