import { describe, expect, it } from '@jest/globals';
import { readForeignDocument } from './read-document.js';
import { readReceipt } from './read-receipt.js';

const PACK = '04607001770001ABCDEFGHIJKLM';
const OTHER = '04607001770001ABCDEFGHIJKLN';
const BOX = '460700177000000001';
const GTIN = '04607001770001';

const document = (element: string, content: string): Buffer =>
  Buffer.from(
    `<documents version="1.38"><${element}><subject_id>00000000100101</subject_id>` +
      `<operation_date>2026-03-02T10:00:00+03:00</operation_date>${content}</${element.split(' ')[0]}></documents>`,
  );
const seriesIn = (element: string, content: string) => readForeignDocument(document(element, content)).series;

describe('series and expiry', () => {
  it('of all packs of a document', () => {
    const told = `<series_number>A-1</series_number><expiration_date>31.12.2027</expiration_date><gtin>${GTIN}</gtin>`;
    expect(
      seriesIn(
        'skzkm_register_end_packing action_id="10311"',
        `${told}<signs><sgtin>${PACK}</sgtin><sgtin>${OTHER}</sgtin></signs>`,
      ),
    ).toEqual([{ gtin: GTIN, series: 'A-1', expiresOn: '2027-12-31' }]);
    expect(
      seriesIn(
        'change_information action_id="253"',
        `<details><series_number>A-2</series_number></details><signs><sgtin>${PACK}</sgtin></signs>`,
      ),
    ).toEqual([{ series: 'A-2' }]);
  });

  it('of the packs of a product in a container', () => {
    const detail = (series: string) => `<detail><gtin>${GTIN}</gtin><series_number>${series}</series_number></detail>`;
    expect(
      seriesIn(
        'move_order_notification action_id="601"',
        `<order_details><union><sscc_detail><sscc>${BOX}</sscc>${detail('B')}${detail('C')}</sscc_detail>` +
          `<cost>1</cost></union><union><sgtin>${PACK}</sgtin><cost>2</cost></union></order_details>`,
      ),
    ).toEqual([
      { item: BOX, gtin: GTIN, series: 'B' },
      { item: BOX, gtin: GTIN, series: 'C' },
    ]);
  });

  it('of one pack each, in a list without rows, and a day that is none is not told', () => {
    const pack = (id: string, day: string) =>
      `<sgtin>${id}</sgtin><gtin>${GTIN}</gtin><series_number>D</series_number>` +
      `<expiration_date>${day}</expiration_date>`;
    expect(
      seriesIn(
        'expired_writeoff_notification action_id="632"',
        `<order_details>${pack(PACK, '01.02.2026')}${pack(OTHER, '31.02.2026')}</order_details>`,
      ),
    ).toEqual([
      { item: PACK, gtin: GTIN, series: 'D', expiresOn: '2026-02-01' },
      { item: OTHER, gtin: GTIN, series: 'D' },
    ]);
  });

  it('as the registry answers about a pack and about what a container holds', () => {
    const info = (more: string) =>
      `<info_sgtin>${more}<status>marked</status><sscc>${BOX}</sscc><gtin>${GTIN}</gtin>` +
      '<series_number>E</series_number><expiration_date>01.01.2028</expiration_date></info_sgtin>';
    const answer = (content: string) =>
      readReceipt(Buffer.from(`<documents version="1.38"><kiz_info action_id="211">${content}</kiz_info></documents>`))
        .series;
    const told = { item: PACK, gtin: GTIN, series: 'E', expiresOn: '2028-01-01' };
    expect(answer(`<result><found>true</found><sgtin>${PACK}</sgtin></result><sgtin>${info('')}</sgtin>`)).toEqual([
      told,
    ]);
    expect(
      answer(
        `<result><found>true</found><sscc>${BOX}</sscc></result><sscc_down><tree><sgtin>` +
          `${info(`<sgtin>${PACK}</sgtin>`)}</sgtin></tree></sscc_down>`,
      ),
    ).toEqual([told]);
  });
});
