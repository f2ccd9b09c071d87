import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { sized } from '../../../../test/support/sized.js';
import { readFacts } from '../../test/facts.js';
import { faultsOf, instancesOf, jsonOf, xmlOf } from '../../test/instances.js';
import { buildDocument } from '../build-document.js';
import { checkDocument } from '../check-document.js';
import type { DocumentJson } from '../port.js';
import { builtInSchemas } from '../schemas/schema-sets.js';
import { readDocument, readForeignDocument } from '../read-document.js';
import { CATALOGUE, documentTypeOf, type DocumentType } from './catalogue.js';

const SEED = 20261122;
const RUNS = sized({ test: 15, soak: 200 });
const facts = readFacts();
const set = builtInSchemas().forVersion('1.38');

/** Those that a participant sends. */
const ours = facts.types
  .filter(({ docType }) => ['outgoing', 'query'].includes(documentTypeOf(docType)?.direction ?? ''))
  .map((type) => [type.docType, type] as const);
const itemsOf = (xml: Buffer): string[] =>
  readDocument(xml)
    .items.map(({ id, into, detail }) => JSON.stringify([id, into, detail]))
    .sort();

describe('documents made from the facts', () => {
  it.each(facts.types.map((type) => [type.docType, type] as const))(
    '%d are accepted and read, and refused with any fault',
    (docType, type) => {
      const written = instancesOf(type).map((action) => ({ text: xmlOf(action), faults: faultsOf(action) }));
      fc.assert(
        fc.property(written, ({ text, faults }) => {
          const xml = Buffer.from(text);
          expect(set.violations(xml).map(({ message }) => message)).toEqual([]);
          const { direction, element } = documentTypeOf(docType) as DocumentType;
          if (direction === 'notification') expect(readForeignDocument(xml)).toMatchObject({ docType, element });
          else if (direction !== 'answer') expect(checkDocument(xml)).toMatchObject({ docType, element });
          expect(faults.length).toBeGreaterThan(1);
          expect(faults.filter((fault) => set.violations(Buffer.from(fault.xml)).length === 0)).toEqual([]);
        }),
        { seed: SEED, numRuns: RUNS },
      );
    },
  );

  it.each(ours)('%d are built from JSON, valid and with the same items', (_, type) => {
    fc.assert(
      fc.property(
        instancesOf(type).map((action) => ({ text: xmlOf(action), json: jsonOf(action) })),
        ({ text, json }) => {
          const built = buildDocument(json as DocumentJson);
          expect(set.violations(built).map(({ message }) => message)).toEqual([]);
          expect(itemsOf(built)).toEqual(itemsOf(Buffer.from(text)));
        },
      ),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it('hold as many items as the schema set allows, or 25,000 where it sets no limit', () => {
    const index = JSON.parse(readFileSync(new URL('../../schemas/1.38/index.json', import.meta.url), 'utf8')) as {
      docType: number;
      maxItems?: number;
    }[];
    const limits = index.map(({ docType, maxItems = 25_000 }) => [docType, maxItems]);
    const isAnswer = ([docType = 0]: number[]): boolean => documentTypeOf(docType)?.direction === 'answer';
    const known = limits.map(([docType = 0]) => [docType, documentTypeOf(docType)?.maxItems]);
    expect(known.filter((one) => !isAnswer(one as number[]))).toEqual(limits.filter((one) => !isAnswer(one)));
  });

  it('are of exactly the types that the catalogue and the schema set have', () => {
    const names = (types: readonly { docType: number; element: string }[]): string[] =>
      types.map(({ docType, element }) => `${docType} ${element}`).sort();
    expect(names(CATALOGUE)).toEqual(
      names(facts.types.map(({ docType, action }) => ({ docType, element: action.name }))),
    );
    expect(CATALOGUE).toHaveLength(106);
    expect(set.lacks).toEqual([]);
    expect(set.unknownElements).toEqual([]);
  });
});
