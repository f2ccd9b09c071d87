import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { problemsOf } from '../../test/epcis-rules.js';
import { readFacts } from '../../test/facts.js';
import { instancesOf, xmlOf } from '../../test/instances.js';
import { CATALOGUE, documentTypeOf } from '../catalogue/catalogue.js';
import { effectsOf, foreignEffectsOf } from '../effects-of.js';
import type { DocumentFacts, ItemEffect, ReceiptFacts } from '../port.js';
import { readDocument, readForeignDocument } from '../read-document.js';
import { noEventOf } from './business-step.js';
import { epcisDocumentOf } from './epcis-document.js';
import { eventsOf, type ToldEvents } from './epcis-event.js';

const SEED = 20261123;
const RUNS = sized({ test: 10, soak: 200 });
const NOW = new Date('2026-11-23T00:00:00Z');
const facts = readFacts();

const ACCEPTED: ReceiptFacts = {
  ...{ operation: '1', operationId: 'one', result: 'accepted', acceptedAt: '2026-01-15T06:10:00.000Z' },
  ...{ warnings: [], errors: [] },
};

function told(docType: number, xml: Buffer): { read: DocumentFacts; effects: ItemEffect[]; events: ToldEvents } {
  const isTold = documentTypeOf(docType)?.direction === 'notification';
  const read = isTold ? readForeignDocument(xml) : readDocument(xml);
  const effects = isTold ? foreignEffectsOf(read, undefined) : effectsOf(read, ACCEPTED);
  const document = { facts: read, effects, acceptedAt: '2026-01-15T06:10:00.000Z', documentSha256: 'ab'.repeat(32) };
  return { read, effects, events: eventsOf(document) };
}

describe('documents as EPCIS events', () => {
  it.each(facts.types.map((type) => [type.docType, type] as const))(
    '%d: valid events, or said plainly that there is none',
    (docType, type) => {
      if (documentTypeOf(docType)?.direction === 'answer') {
        expect(noEventOf(docType)).toBe('it asks or answers, and moves nothing');
        return;
      }
      fc.assert(
        fc.property(instancesOf(type).map(xmlOf), (text) => {
          const { effects, events } = told(docType, Buffer.from(text));
          const document = epcisDocumentOf([{ ...events, ids: [], documentSha256: 'ab'.repeat(32) }], NOW);
          expect(problemsOf(document)).toEqual([]);
          // Every item is told or named with its reason, never dropped.
          const named = new Set([
            ...events.events.flatMap((one) => [...(one.epcList ?? []), ...(one.childEPCs ?? []), one.parentID]),
            ...events.leftOut.map((one) => one['pedigree:epc']),
          ]);
          const isWhole = events.leftOut.some((one) => one['pedigree:epc'] === undefined);
          for (const { item } of effects)
            expect(isWhole || [...named].some((one) => one?.includes(item.id.slice(14)) ?? false)).toBe(true);
          if (noEventOf(docType) !== undefined)
            expect(events).toMatchObject({
              events: [],
              leftOut: [{ 'pedigree:docType': String(docType), 'pedigree:why': noEventOf(docType) }],
            });
        }),
        { seed: SEED, numRuns: RUNS },
      );
    },
  );

  it('of every type of the catalogue are decided', () => {
    const none = CATALOGUE.filter(({ docType }) => noEventOf(docType) !== undefined);
    expect(none.every(({ docType }) => noEventOf(docType) !== '')).toBe(true);
    expect(CATALOGUE.length - none.length).toBe(53);
    expect(noEventOf(99_999)).toBe('type 99999 is not known');
    expect(noEventOf(10_300)).toBe('what it does to a pack is not publicly known');
    expect(noEventOf(250)).toBe('it moves no pack');
    const unknown = CATALOGUE.filter(({ effect, direction }) => typeof effect === 'string' && direction !== 'answer');
    expect(unknown.length).toBeGreaterThan(20);
    for (const { docType } of unknown) expect(noEventOf(docType)).toContain('not publicly known');
  });
});
