import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { packs } from '../../test/documents.js';

const INNER = '046000000000000079';
const OUTER = '046000000000000086';
const PRODUCT = [
  `<gtin>${doc.GTIN}</gtin>`,
  '<series_number>S000</series_number>',
  '<expiration_date>31.12.2028</expiration_date>',
].join('');

const inside = (xml: string, element: string): string =>
  new RegExp(`<${element}>(.*)</${element}>`, 's').exec(xml)?.[1] ?? '';

describe('queries are answered in place of a receipt', () => {
  let client: TestClient;
  let ids: string[];

  beforeAll(async () => {
    client = await TestClient.start();
    ids = packs(1, 3);
    for (const xml of [
      doc.accept(ids),
      doc.unitPack(INNER, ids.slice(0, 2)),
      doc.unitPack(OUTER, [INNER, ids[2] as string]),
    ])
      await client.process(xml);
  });
  afterAll(() => client.stop());

  const ask = async (xml: string, account = 'main') => {
    const outcome = await client.process(xml, account);
    expect(outcome.metadata['status']).toBe('PROCESSED');
    return outcome.receipt ?? '';
  };

  it('210 about a pack: 211 with its status, unit, series and expiry', async () => {
    const answer = await ask(doc.queryItem('sgtin', ids[0] as string));
    expect(answer).toContain(`<kiz_info action_id="211"><result><found>true</found><sgtin>${ids[0]}</sgtin></result>`);
    expect(answer).toContain(
      `<info_sgtin><status>in_circulation</status><sscc>${INNER}</sscc><gtin>${doc.GTIN}</gtin>` +
        '<series_number>S000</series_number><expiration_date>31.12.2028</expiration_date></info_sgtin>',
    );
  });

  it('210 down and up from a unit', async () => {
    const down = await ask(doc.queryItem('sscc_down', OUTER));
    expect(inside(down, 'sscc_down')).toBe(
      `<tree><sscc>${OUTER}</sscc></tree><tree><sscc>${INNER}</sscc><parent_sscc>${OUTER}</parent_sscc></tree>` +
        [ids[2], ids[0], ids[1]]
          .map((id, index) => {
            const parent = index === 0 ? OUTER : INNER;
            const info = `<status>in_circulation</status><sscc>${parent}</sscc>${PRODUCT}`;
            return (
              `<tree><sgtin><info_sgtin><sgtin>${id}</sgtin>${info}</info_sgtin></sgtin>` +
              `<parent_sscc>${parent}</parent_sscc></tree>`
            );
          })
          .join(''),
    );
    expect(inside(await ask(doc.queryItem('sscc_down', INNER)), 'sscc_down')).toMatch(
      new RegExp(`^<tree><sscc>${INNER}</sscc></tree><tree><sgtin>.*<parent_sscc>${INNER}</parent_sscc></tree>$`),
    );
    expect(await ask(doc.queryItem('sscc_up', INNER))).toContain(
      `<sscc_up><info><sscc>${INNER}</sscc><level>0</level></info><info><sscc>${OUTER}</sscc><level>1</level>` +
        '</info></sscc_up>',
    );
  });

  it('210 about what is not there or not ours says so', async () => {
    for (const id of [`${doc.GTIN}NOTHING000001`, doc.pack(1, 900)])
      expect(await ask(doc.queryItem('sgtin', id))).toContain('<found>false</found>');
    expect(await ask(doc.queryItem('sscc_down', '046999999999999999'))).toContain('<operation_warnings>');
  });

  it('220: 221 with what lies in the unit and what holds it', async () => {
    const answer = await ask(doc.queryHierarchy(INNER));
    const [up, down] = [inside(answer, 'sscc_up'), inside(answer, 'sscc_down')].map((branch) =>
      branch.replaceAll(/(<packing_date>)\d{4}-\d\d-\d\dT[\d:.]+(\+03:00<)/g, '$1$2'),
    );
    const head = (sscc: string) => `<sscc>${sscc}</sscc><packing_date>+03:00</packing_date>`;
    expect(up).toBe(`<sscc_info>${head(OUTER)}<childs><sscc_info>${head(INNER)}</sscc_info></childs></sscc_info>`);
    const packInfo = (id: string | undefined) =>
      `<sgtin_info><sgtin>${id}</sgtin><sscc>${INNER}</sscc><status>in_circulation</status>${PRODUCT}</sgtin_info>`;
    expect(down).toBe(`<sscc_info>${head(INNER)}<childs>${packInfo(ids[0])}${packInfo(ids[1])}</childs></sscc_info>`);
    expect(await ask(doc.queryHierarchy('046999999999999999'))).toContain('<operation_warnings>');
  });

  it("both tell a pack's own last day, where it has one", async () => {
    const [sgtin, sscc] = [`${doc.GTIN}SHORTDATED001`, '046000000000000093'];
    const own = { owner: 'own', place: doc.PLACES.warehouse, expires: '01.02.2027', sscc };
    expect((await client.control('POST', '/plant', { packs: [{ sgtin, ...own }] })).status).toBe(200);
    for (const query of [doc.queryItem('sgtin', sgtin), doc.queryItem('sscc_down', sscc), doc.queryHierarchy(sscc)])
      expect(await ask(query)).toContain('<expiration_date>01.02.2027</expiration_date>');
  });

  it('both name the decision that suspends a pack', async () => {
    const { json } = await client.control('POST', '/suspensions', { sgtins: [ids[1]], halt_doc_num: 'R&D 7' });
    const day = /\d\d\.\d\d\.\d{4}/.source;
    expect(await ask(doc.queryItem('sgtin', ids[1] as string))).toMatch(
      new RegExp(
        `</info_sgtin><info_decision><id_decision>${json.haltId}</id_decision><doc_num>R&amp;D 7</doc_num>` +
          `<doc_date>${day}</doc_date></info_decision></sgtin>`,
      ),
    );
    expect(await ask(doc.queryHierarchy(INNER))).toMatch(
      new RegExp(
        `</expiration_date><pause_decision_info><id>${json.haltId}</id><number>R&amp;D 7</number>` +
          `<date>${day}</date></pause_decision_info></sgtin_info>`,
      ),
    );
  });
});
