import { afterAll, describe, expect, it } from '@jest/globals';
import * as doc from '../../test/documents.js';
import { schemasFolder } from '../data-files.js';
import { Schemas } from './schemas.js';
import { ended, readDocument, readInSlices } from './xml.js';

describe('long documents are worked on in slices', () => {
  const schemas = new Schemas(schemasFolder(), ['1.38']);
  afterAll(() => schemas.dispose());

  const both = (xml: string) => ({
    inSlices: ended(schemas.violationsInSlices(ended(readInSlices(Buffer.from(xml))))),
    atOnce: schemas.violations(Buffer.from(xml)),
  });
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
    for (const xml of [
      doc.accept(ids),
      doc.moveOrder(ids),
      doc.unitPack('046000000000000017', ids),
      receipts(doc.retailSale(ids.map((id) => ({ id })))),
      doc.endPacking(ids),
      doc.accept([doc.pack(1)]),
    ]) {
      for (const text of [xml, lined(xml), lined(xml, '\r\n')])
        expect(both(text)).toEqual({ inSlices: [], atOnce: [] });
      expect(ended(readInSlices(Buffer.from(xml))).content).toEqual(readDocument(Buffer.from(xml)));
    }
  });

  it.each([0, 999, 1000, 1001, 2500, 3499])('name the same line when entry %i is wrong', (at) => {
    const wrong = [...ids];
    wrong[at] = 'no-sgtin';
    for (const xml of [doc.accept(wrong), doc.moveOrder(wrong)]) {
      for (const end of ['\n', '\r\n']) {
        const { inSlices, atOnce } = both(lined(xml, end));
        expect(atOnce.length).toBeGreaterThan(0);
        expect(inSlices).toEqual(atOnce);
      }
    }
  });

  it('find an item that is named twice, however far apart', () => {
    const { inSlices, atOnce } = both(doc.accept(ids.with(3499, ids[1] as string)));
    expect(inSlices).toEqual(atOnce);
    expect(inSlices).toEqual([expect.stringContaining(`['${ids[1]}']`)]);
  });

  it('name what is wrong around the list', () => {
    const xml = lined(doc.endPacking(ids));
    for (const broken of [
      xml.replace('<device_id>0000000000000001', '<device_id>x'),
      xml.replace('<order_type>1', '<order_type>9'),
    ]) {
      const { inSlices, atOnce } = both(broken);
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
