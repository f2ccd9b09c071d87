import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { readFacts } from '../../../../libs/documents/test/facts.js';
import { faultsOf, instancesOf, xmlOf } from '../../../../libs/documents/test/instances.js';
import { schemasFolder } from '../data-files.js';
import { Schemas } from './schemas.js';
import { ended, readInSlices } from './xml.js';

const SEED = 20261122;
const RUNS = sized({ test: 4, soak: 50 });
const schemas = new Schemas(schemasFolder(), ['1.38']);
afterAll(() => schemas.dispose());

describe('the sandbox judges documents as the facts do', () => {
  it.each(readFacts().types.map((type) => [type.docType, type] as const))('%d', (_, type) => {
    const made = instancesOf(type).map((action) => ({ text: xmlOf(action), faults: faultsOf(action) }));
    const violations = (xml: string): string[] =>
      ended(schemas.violationsInSlices(ended(readInSlices(Buffer.from(xml)))));
    fc.assert(
      fc.property(made, ({ text, faults }) => {
        expect(violations(text)).toEqual([]);
        expect(faults.filter(({ xml }) => violations(xml).length === 0)).toEqual([]);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
