import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { packs } from '../../test/documents.js';

const INNER = '046000000000000079';
const OUTER = '046000000000000086';

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
    for (const id of [INNER, ...ids]) expect(down).toContain(id);
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
    expect(answer).toMatch(
      new RegExp(
        `<sscc_up><sscc_info><sscc>${INNER}</sscc>.*<sscc_info><sscc>${OUTER}</sscc>.*</sscc_up><sscc_down>` +
          `<sscc_info><sscc>${INNER}</sscc>`,
      ),
    );
    const down = answer.slice(answer.indexOf('<sscc_down>'));
    expect(down).toContain(`<sgtin_info><sgtin>${ids[1]}</sgtin>`);
    expect(down).not.toContain(ids[2]);
    expect(await ask(doc.queryHierarchy('046999999999999999'))).toContain('<operation_warnings>');
  });
});
