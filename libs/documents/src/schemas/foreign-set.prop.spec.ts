import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '#kernel';
import { sized } from '../../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { readFacts } from '../../test/facts.js';
import { foreignSchemasOf } from '../../test/foreign-schemas.js';
import { faultsOf, instancesOf, xmlOf, type Instance } from '../../test/instances.js';
import { buildDocument } from '../build-document.js';
import { documentTypeOf } from '../catalogue/catalogue.js';
import { checkDocument } from '../check-document.js';
import type { DocumentJson } from '../port.js';
import { splitDocument } from '../split-document.js';
import { compareSets } from './compare-sets.js';
import { SchemaSet } from './schema-set.js';
import { builtInSet, SchemaSets } from './schema-sets.js';

const SEED = 20261122;
const RUNS = sized({ test: 3, soak: 60 });
const facts = readFacts();

let folder: TemporaryFolder;
let foreign: SchemaSet;
let sets: [SchemaSets, SchemaSets];
beforeAll(async () => {
  folder = await temporaryFolder();
  for (const [name, text] of foreignSchemasOf(facts)) writeFileSync(join(folder.path, name), text);
  foreign = new SchemaSet({ folder: folder.path, name: 'foreign', versions: ['1.38'] });
  sets = [new SchemaSets([builtInSet()]), new SchemaSets([foreign])];
});
afterAll(() => folder.remove());

/** What came of it, by the built-in set and by the foreign one. */
const both = (run: (schemas: SchemaSets) => unknown): unknown[] =>
  sets.map((schemas) => {
    try {
      return run(schemas);
    } catch (error) {
      return (error as Error).message.replaceAll(schemas.sets[0]?.name ?? '', 'the set');
    }
  });
const alike = (run: (schemas: SchemaSets) => unknown): unknown => {
  const [here, there] = both(run);
  expect(there).toEqual(here);
  return here;
};

/** An instance as an ERP would give it. */
function jsonOf({ text, attributes, children }: Instance): JsonValue {
  if (text !== undefined) return Object.keys(attributes).length === 0 ? text : { ...attributes, value: text };
  const fields: JsonObject = {};
  for (const child of children) {
    const { name } = child.fact;
    const value = jsonOf(child);
    const before = fields[name];
    fields[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return fields;
}

it('a set of 111 files in another layout is taken as it is, and allows what the built-in one allows', async () => {
  expect(foreign.fileNames).toHaveLength(111);
  await foreign.verify();
  expect(foreign.lacks).toEqual([]);
  expect(foreign.unknownElements).toEqual([]);
  expect(compareSets(builtInSet(), foreign)).toEqual([]);
});

describe(`documents by the foreign set as by the built-in one (seed ${SEED})`, () => {
  it.each(facts.types.map((type) => [type.docType, type] as const))('%d', (docType, type) => {
    const isOurs = documentTypeOf(docType)?.direction !== 'answer';
    fc.assert(
      fc.property(instancesOf(type), (action) => {
        const xml = Buffer.from(xmlOf(action));
        expect(foreign.violations(xml).map(({ message }) => message)).toEqual([]);
        for (const fault of faultsOf(action)) {
          const { length } = foreign.violations(Buffer.from(fault.xml));
          expect([fault.what, length > 0]).toEqual([fault.what, true]);
        }
        if (!isOurs) return;
        alike((schemas) => checkDocument(xml, schemas));
        const json = { ...(jsonOf(action) as JsonObject), action_id: docType } as DocumentJson;
        expect(Buffer.isBuffer(alike((schemas) => buildDocument(json, schemas)))).toBe(true);
        alike((schemas) => splitDocument(xml, { maxItemsOf: () => 1, schemas }).map((part) => part.toString()));
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
