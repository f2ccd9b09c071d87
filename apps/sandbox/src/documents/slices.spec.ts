import { afterAll, describe, expect, it } from '@jest/globals';
import * as doc from '../../test/documents.js';
import { schemasFolder } from '../data-files.js';
import { Schemas, type SchemaEntry } from './schemas.js';
import { ended, readDocument, readInSlices } from './xml.js';

describe('long documents are worked on in slices', () => {
  const schemas = new Schemas(schemasFolder());
  afterAll(() => schemas.dispose());

  const both = (xml: string, docType: number) => {
    const entry = schemas.entry('1.38', docType) as SchemaEntry;
    return {
      inSlices: ended(schemas.violationsInSlices(ended(readInSlices(Buffer.from(xml))), '1.38', entry)),
      atOnce: schemas.violations(Buffer.from(xml), '1.38', entry),
    };
  };
  const ids = doc.packs(0, 3500);
  /** Every element on a line of its own, as an ERP writes it. */
  const lined = (xml: string, end = '\n') => xml.replace(/></g, `>${end}<`);

  /** A sale of one pack each. */
  const receipts = (xml: string) =>
    xml.replaceAll(
      '</detail><detail>',
      `</detail>${/<sale_docs>.*<\/sale_docs>/.exec(xml)?.[0]}</union><union><detail>`,
    );

  it('come out as when they are done at once', () => {
    for (const [docType, xml] of [
      [701, doc.accept(ids)],
      [415, doc.moveOrder(ids)],
      [911, doc.unitPack('046000000000000017', ids)],
      [511, receipts(doc.retailSale(ids.map((id) => ({ id }))))],
      [10311, doc.endPacking(ids)],
      [701, doc.accept([doc.pack(1)])],
    ] as [number, string][]) {
      for (const text of [xml, lined(xml), lined(xml, '\r\n')])
        expect(both(text, docType)).toEqual({ inSlices: [], atOnce: [] });
      expect(ended(readInSlices(Buffer.from(xml))).content).toEqual(readDocument(Buffer.from(xml)));
    }
  });

  it.each([0, 999, 1000, 1001, 2500, 3499])('name the same line when entry %i is wrong', (at) => {
    const wrong = [...ids];
    wrong[at] = 'no-sgtin';
    for (const [docType, xml] of [
      [701, doc.accept(wrong)],
      [415, doc.moveOrder(wrong)],
    ] as [number, string][]) {
      for (const end of ['\n', '\r\n']) {
        const { inSlices, atOnce } = both(lined(xml, end), docType);
        expect(atOnce.length).toBeGreaterThan(0);
        expect(inSlices).toEqual(atOnce);
      }
    }
  });

  it('name what is wrong around the list', () => {
    const xml = lined(doc.endPacking(ids));
    for (const broken of [
      xml.replace('<device_id>0000000000000001', '<device_id>x'),
      xml.replace('<order_type>1', '<order_type>9'),
    ]) {
      const { inSlices, atOnce } = both(broken, 10311);
      expect(atOnce.length).toBeGreaterThan(0);
      expect(inSlices.map((violation) => violation.replace(/^line \d+: /, ''))).toEqual(
        atOnce.map((violation) => violation.replace(/^line \d+: /, '')),
      );
    }
  });

  it('leave room for others: reading 25,000 items takes many slices', () => {
    const reading = readInSlices(Buffer.from(doc.moveOrder(doc.packs(0, 25_000))));
    let slices = 0;
    while (reading.next().done !== true) slices += 1;
    expect(slices).toBeGreaterThan(50);
  });
});
