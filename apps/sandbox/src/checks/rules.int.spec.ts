import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import { GTIN, PLACES } from '../../test/documents.js';
import { documentOf, FACTS, violationsOf, type Values } from '../../test/instance.js';
import { RULES } from './rules.js';

/** Sides of every document here, unless it says otherwise: a supplier speaks, we are the other side. */
const SIDES: Values = {
  subject_id: 'supplier-a',
  receiver_id: 'own',
  shipper_id: 'own',
  counterparty_id: 'own',
  custom_receiver_id: 'own',
  gtin: GTIN,
};

interface Planted {
  status?: string;
  owner?: string;
  place?: string;
  sscc?: string;
  series?: string;
  transfer?: { from: string; to: string; order?: string };
}
interface Case {
  values?: Values;
  /** The pack before; a supplier's in circulation unless it says otherwise. `null`: the registry has none. */
  before?: Planted | null;
  after: Record<string, unknown>;
  /** A pack with which the document is refused. */
  wrong?: Planted | null;
  by?: string;
  told?: number;
}

const OURS = { owner: 'own', place: PLACES.warehouse };
const RETAIL = { before: {}, wrong: { status: 'marked' } };
const shipped = (status: string, told: number, more: Partial<Case> = {}): Case => ({
  after: { status, owner: 'supplier-a', transfer: { order: 'direct' } },
  told,
  ...more,
});
const claimed = (told: number, more: Partial<Case> = {}): Case => ({
  before: OURS,
  after: { status: 'waiting_confirmation', owner: 'own', transfer: { order: 'reverse' } },
  wrong: { ...OURS, status: 'in_sale' },
  told,
  ...more,
});
const MARKED = { status: 'marked' };
const ON_ITS_WAY = { from: PLACES.supplier, to: PLACES.warehouse };

const CASES: Record<number, Case> = {
  251: {
    before: { status: 'in_realization', transfer: ON_ITS_WAY },
    after: { status: 'in_circulation', transfer: null },
    wrong: {},
    told: 605,
  },
  252: {
    before: { ...OURS, status: 'in_realization', transfer: { from: PLACES.warehouse, to: PLACES.supplier } },
    after: { status: 'in_circulation', owner: 'own', transfer: null },
    wrong: OURS,
    told: 606,
  },
  253: {
    values: { details: '', series_number: 'NEW', expiration_date: '31.12.2031' },
    after: { status: 'in_circulation', series: 'NEW', expires: '31.12.2031' },
  },
  300: { before: { status: 'emitted' }, after: { status: 'transferred_to_customs' } },
  313: { before: MARKED, after: { status: 'in_circulation' } },
  314: shipped('transferred_for_release', 618, { values: { owner_id: 'own' }, before: MARKED }),
  315: shipped('transfer_to_production', 622, { before: { status: 'waiting_for_release' } }),
  331: shipped('shipped', 613, { before: MARKED }),
  332: claimed(614, { before: { ...OURS, ...MARKED } }),
  333: { before: MARKED, after: { status: 'arrived' } },
  334: { before: { status: 'arrived' }, after: { status: 'moved_to_warehouse' } },
  335: { values: { custom_procedure_code: '40' }, before: { status: 'arrived' }, after: { status: 'declared' } },
  336: shipped('transferred_to_importer', 620, { before: MARKED }),
  337: shipped('awaiting_return_confirmation', 625, { before: { status: 'arrived' } }),
  341: { before: { status: 'declared' }, after: { status: 'declared_warehouse' } },
  342: { before: { status: 'declared_warehouse' }, after: { status: 'in_circulation' } },
  351: shipped('change_owner', 609),
  360: { before: MARKED, after: { status: 'arrived' } },
  361: shipped('shipped', 615, { before: MARKED }),
  362: claimed(616, { before: { ...OURS, ...MARKED } }),
  363: { before: { status: 'arrived' }, after: { status: 'in_circulation' } },
  381: shipped('transfered_to_owner', 603, { values: { owner_id: 'own' } }),
  391: { before: { status: 'in_sale' }, after: { status: 'in_circulation' }, wrong: {} },
  415: shipped('in_realization', 601),
  416: claimed(602),
  417: shipped('confirm_return_paused', 610, {
    values: { turnover_type: '3' },
    before: { status: 'paused_circulation' },
    wrong: {},
  }),
  431: {
    by: 'own',
    values: { receiver_id: PLACES.second },
    before: { ...OURS, status: 'paused_circulation' },
    after: { status: 'paused_circulation', place: PLACES.second },
    wrong: { ...OURS, status: 'in_sale' },
    told: 629,
  },
  441: { values: { receiver_info: '', inn: '7701234501' }, after: { status: 'moved_to_unregistered' } },
  442: {
    before: { ...OURS, status: 'moved_to_unregistered' },
    after: { status: 'in_circulation', owner: 'supplier-a', place: PLACES.supplier },
    wrong: OURS,
    told: 611,
  },
  461: { after: { status: 'moved_to_eeu' } },
  470: {
    by: 'own',
    values: { receiver_id: PLACES.second, source: '2' },
    before: OURS,
    after: { status: 'in_circulation', place: PLACES.second },
    wrong: { ...OURS, status: 'in_sale' },
    told: 630,
  },
  471: shipped('change_owner_state_gov', 612),
  472: shipped('transferred_to_agent', 619),
  473: claimed(624),
  481: { values: { sign_arbitration: '1' }, after: { status: 'in_arbitration' }, told: 621 },
  511: { ...RETAIL, after: { status: 'in_sale' } },
  512: {
    ...RETAIL,
    values: { sold_part: '1/3' },
    after: { status: 'in_partial_dispensing_by_document', part_used: '1/3' },
  },
  521: { ...RETAIL, after: { status: 'in_discount_prescription_sale' } },
  531: { ...RETAIL, after: { status: 'in_medical_use' } },
  541: { before: { status: 'paused_circulation' }, after: { status: 'moved_for_disposal' } },
  542: { before: { status: 'moved_for_disposal' }, after: { status: 'disposed' }, wrong: {} },
  552: { values: { '@withdrawal_part': '2/5' }, after: { status: 'in_partial_ooc', part_used: '2/5' } },
  701: {
    before: { ...OURS, status: 'in_realization', transfer: { from: PLACES.warehouse, to: PLACES.supplier } },
    after: { status: 'in_circulation', owner: 'supplier-a', place: PLACES.supplier, transfer: null },
    wrong: OURS,
    told: 607,
  },
  702: {
    before: OURS,
    after: { status: 'in_circulation', owner: 'supplier-a', place: PLACES.supplier },
    wrong: { ...OURS, status: 'in_sale' },
    told: 627,
  },
  705: { after: { status: 'out_of_circulation' } },
  911: { values: { sscc: '046000000000001110' }, after: { sscc: '046000000000001110' } },
  912: {
    values: { sscc: '046000000000001127' },
    before: { sscc: '046000000000001127' },
    after: { sscc: null, status: 'in_circulation' },
    wrong: null,
  },
  913: { before: { sscc: '046000000000001134' }, after: { sscc: null }, wrong: {} },
  914: { values: { sscc: '046000000000001141' }, after: { sscc: '046000000000001141' } },
  915: { values: { sscc: '046000000000001158' }, after: { sscc: '046000000000001158' } },
  916: { values: { sscc: '046000000000001165' }, after: { sscc: '046000000000001165' } },
  10300: { before: null, after: { status: 'emitted', owner: 'supplier-a' }, wrong: {} },
  10305: { before: { status: 'emitted' }, after: { status: 'eliminated' } },
  10311: {
    values: { series_number: 'M1', expiration_date: '01.02.2030' },
    before: { status: 'emitted' },
    after: { status: 'marked', series: 'M1', expires: '01.02.2030' },
    wrong: {},
  },
  10319: { before: null, after: { status: 'marked', owner: 'supplier-a' }, wrong: {} },
  10511: { ...RETAIL, values: { sold_part: '1/2' }, after: { status: 'in_partial_sale', part_used: '1/2' } },
  10521: { ...RETAIL, after: { status: 'in_discount_prescription_sale' } },
  10522: { ...RETAIL, after: { status: 'in_discount_prescription_sale' } },
  10523: { ...RETAIL, after: { status: 'discount_prescription_error' } },
  10531: { ...RETAIL, after: { status: 'in_medical_use' } },
  10532: { ...RETAIL, after: { status: 'med_care_error' } },
  20521: { after: { status: 'in_circulation' }, wrong: OURS },
};

const ELIMINATED: Planted = { status: 'eliminated' };
/** Types whose unit must be there, and those whose own unit is another for another pack. */
const FILLED = [914, 916];
const UNIT_TYPES = [911, 912, 915];
/** What may be done twice: to details, to a second part of the pack, or to nothing. */
const REPEATABLE = [253, 512, 552, 10511, 20521];
/** A 912 names units only. */
const itemOf = (docType: number, sgtin: string): Values => (docType === 912 ? {} : { sgtin });

/** Types that name no pack, or are about an earlier document: they have tests of their own below. */
const ELSEWHERE = [210, 212, 213, 220, 250, 254, 432, 812, 10501, 10502];
const RECALLABLE: Record<number, Values> = {
  313: {},
  333: {},
  334: {},
  335: { custom_procedure_code: '40' },
  341: {},
  342: {},
  360: {},
  363: {},
  431: { receiver_id: PLACES.second },
  470: { receiver_id: PLACES.second, source: '1' },
  541: {},
  300: {},
};

describe('every document type that is sent', () => {
  let client: TestClient;
  let packs = 0;
  let seen = 0;

  beforeAll(async () => {
    client = await TestClient.start({ tellOwnMoves: true });
  });
  afterAll(() => client.stop());

  const newPack = (): string => `${GTIN}RULES${String((packs += 1)).padStart(8, 'X')}`;

  async function planted(state: Planted | null | undefined): Promise<string> {
    const sgtin = newPack();
    if (state === null) return sgtin;
    const pack = { sgtin, owner: 'supplier-a', place: PLACES.supplier, series: 'S1', ...state };
    const answer = await client.control('POST', '/plant', { packs: [pack] });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return sgtin;
  }

  interface Truth {
    document_id: string;
    request_id: string;
    doc_type: number;
    doc_num: string;
    receiver: string | null;
    result: string;
    seq: number;
  }

  /** Lets a participant send it; answers what became of it, and what we were told. */
  async function act(xml: string, from = 'supplier-a'): Promise<{ document: Truth; told: Truth[] }> {
    expect(violationsOf(xml)).toEqual([]);
    const order = await client.control('POST', '/counterparties/act', { from, xml });
    await client.advance(1);
    const { documents } = (await client.control('GET', `/truth/documents?after=${seen}&limit=100`)).json as {
      documents: Truth[];
    };
    seen = documents.at(-1)?.seq ?? seen;
    const document = documents.find((one) => one.document_id === order.json.document_id) as Truth;
    const told = documents.filter((one) => one.receiver !== null);
    for (const one of told) {
      const { json } = await client.control('GET', `/truth/files/${one.document_id}`);
      expect(violationsOf(Buffer.from(json.document, 'base64'))).toEqual([]);
      expect(one.request_id).toBe(document.request_id);
    }
    return { document, told };
  }

  const written = (docType: number, values: Values): string => documentOf(docType, { ...SIDES, ...values });

  it('has a rule: all that the facts know, but what the registry itself writes', () => {
    const isOfRegistry = (docType: number) =>
      [200, 201, 211, 221].includes(docType) || (docType > 600 && docType < 700);
    const sent = FACTS.filter(({ docType }) => !isOfRegistry(docType));
    expect(sent.map(({ docType, action }) => [docType, action.name]).sort()).toEqual(
      Object.entries(RULES)
        .map(([docType, [element]]) => [Number(docType), element])
        .sort(),
    );
    expect([...Object.keys(CASES).map(Number), ...ELSEWHERE].sort()).toEqual(sent.map(({ docType }) => docType).sort());
  });

  it.each(Object.entries(CASES).map(([docType, one]) => [Number(docType), one] as const))(
    '%i: its pack becomes what the rule says, and in a wrong state it is refused',
    async (docType, { values = {}, before, after, wrong = ELIMINATED, by = 'supplier-a', told }) => {
      const write = (sgtin: string, more: Values = {}) =>
        written(docType, { subject_id: by, ...itemOf(docType, sgtin), ...values, ...more });
      if (FILLED.includes(docType)) await planted({ sscc: String(values['sscc']) });
      const refused = await planted(wrong);
      const bad = await act(write(refused, UNIT_TYPES.includes(docType) ? { sscc: '046000000000009999' } : {}), by);
      expect([bad.document.result, bad.told]).toEqual(['Rejected', []]);
      if (wrong !== null) expect(await client.pack(refused)).toMatchObject({ owner: 'supplier-a', ...wrong });

      const sgtin = await planted(before);
      const good = await act(write(sgtin), by);
      const toldTypes = good.told.map((one) => [one.doc_type, one.receiver]);
      expect([good.document.result, toldTypes]).toEqual(['Accepted', told === undefined ? [] : [[told, 'own']]]);
      expect(await client.pack(sgtin)).toMatchObject(after);
      const repeated = await act(write(sgtin), by);
      expect(repeated.document.result).toBe(REPEATABLE.includes(docType) ? 'Accepted' : 'Rejected');
    },
  );

  it.each(Object.entries(RECALLABLE).map(([docType, values]) => [Number(docType), values] as const))(
    '250 cancels a %i: its packs are what they were, unless another document changed them since',
    async (docType, values) => {
      const { before } = CASES[docType] as Case;
      const by = CASES[docType]?.by ?? 'supplier-a';
      const subject = { subject_id: by };
      const [kept, changed] = [await planted(before), await planted(before)];
      const was = await client.pack(kept);
      const first = await act(written(docType, { ...subject, ...values, sgtin: kept }), by);
      const second = await act(written(docType, { ...subject, ...values, sgtin: changed }), by);
      expect([first.document.result, second.document.result]).toEqual(['Accepted', 'Accepted']);
      expect(await client.pack(kept)).not.toEqual(was);
      const recall = (operation: string, type = docType) =>
        act(written(250, { ...subject, operation_id: operation, recall_action_id: String(type) }), by);
      expect((await recall(first.document.document_id, docType === 313 ? 342 : 313)).document.result).toBe('Rejected');
      expect((await recall(first.document.document_id)).document.result).toBe('Accepted');
      expect(await client.pack(kept)).toEqual(was);
      expect((await recall(first.document.document_id)).document.result).toBe('Rejected');
      await act(written(253, { ...subject, details: '', series_number: 'LATER', sgtin: changed }), by);
      const isOpenTo253 = (await client.pack(changed))['series'] === 'LATER';
      expect((await recall(second.document.request_id)).document.result).toBe(isOpenTo253 ? 'Rejected' : 'Accepted');
    },
  );

  it('a suspended pack stays suspended: 417, then 701, 252 or 251 leave it so', async () => {
    const back = { subject_id: PLACES.supplier, counterparty_id: PLACES.warehouse };
    for (const [docType, by, fields, owner] of [
      [701, 'own', { subject_id: PLACES.warehouse, counterparty_id: PLACES.supplier }, 'own'],
      [252, 'own', { subject_id: PLACES.warehouse, shipper_id: PLACES.supplier }, 'supplier-a'],
      [251, 'supplier-a', { ...back, receiver_id: PLACES.warehouse }, 'supplier-a'],
    ] as const) {
      const sgtin = await planted({ status: 'paused_circulation' });
      expect((await act(written(417, { sgtin, turnover_type: '2' }))).document.result).toBe('Accepted');
      expect((await act(written(docType, { ...fields, sgtin }), by)).document.result).toBe('Accepted');
      expect(await client.pack(sgtin)).toMatchObject({ status: 'paused_circulation', owner, transfer: null });
      // Suspended on its way, by nothing that would suspend it anew.
      const held = await planted({ status: 'paused_circulation', transfer: ON_ITS_WAY });
      expect((await act(written(docType, { ...fields, sgtin: held }), by)).document.result).toBe('Accepted');
      expect(await client.pack(held)).toMatchObject({ status: 'paused_circulation', owner, transfer: null });
    }
  });

  it('a shipment whose series is suspended on its way is accepted suspended, and a cancelled decision frees it', async () => {
    const [a, b] = [await planted({ series: 'HELD' }), await planted({ series: 'HELD' })];
    await act(written(415, { sgtin: [a, b] }));
    const halt = (halt_type: string) =>
      client.control('POST', '/suspensions', { gtin: GTIN, batch: 'HELD', halt_type });
    await halt('suspend');
    expect(await client.pack(a)).toMatchObject({ status: 'paused_circulation', owner: 'supplier-a' });
    await act(written(701, { subject_id: 'own', counterparty_id: 'supplier-a', sgtin: a }), 'own');
    expect(await client.pack(a)).toMatchObject({ status: 'paused_circulation', owner: 'own', transfer: null });
    await halt('cancel');
    expect([await client.pack(a), await client.pack(b)]).toMatchObject([
      { status: 'in_circulation', owner: 'own' },
      { status: 'in_realization', owner: 'supplier-a', transfer: { to: PLACES.warehouse } },
    ]);
  });

  it('a 391 of bad quality (reason 2) may be returned by 417 and not be sold or shipped', async () => {
    const sgtin = await planted({ status: 'in_sale' });
    await act(written(391, { sgtin, reason_return: '2' }));
    expect(await client.pack(sgtin)).toMatchObject({ status: 'in_circulation' });
    expect((await act(written(511, { sgtin }))).document.result).toBe('Rejected');
    expect((await act(written(415, { sgtin }))).document.result).toBe('Rejected');
    expect((await act(written(417, { sgtin, turnover_type: '2' }))).document.result).toBe('Accepted');
    expect(await client.pack(sgtin)).toMatchObject({ status: 'confirm_return_paused' });
  });

  it('a 415 as a return fails where the goods were received by 702', async () => {
    const sgtin = await planted(OURS);
    await act(written(702, { sgtin }));
    expect((await act(written(415, { sgtin, turnover_type: '2' }))).document.result).toBe('Rejected');
    expect((await act(written(415, { sgtin, turnover_type: '1' }))).document.result).toBe('Accepted');
  });

  it('a 552 with unpack dissolves the unit; what is left of a half sold pack is told apart', async () => {
    const [kept, gone] = ['046000000000002223', '046000000000002230'];
    const inside = [await planted({ sscc: kept }), await planted({ sscc: gone })];
    await act(written(552, { sscc: kept }));
    await act(written(552, { sscc: gone, unpack: 'true' }));
    expect(await Promise.all(inside.map(async (id) => (await client.pack(id))['sscc']))).toEqual([kept, null]);
    expect((await client.control('GET', `/truth/sscc/${gone}`)).json).toMatchObject({ unpacked: true });
    const half = await planted({});
    await act(written(511, { sgtin: half, sold_part: '1/2' }));
    await act(written(552, { sgtin: half }));
    expect(await client.pack(half)).toMatchObject({ status: 'ooc_part_sale' });
  });

  it('432 and 812 move everything of a place, and are told by 634 and 631', async () => {
    const [from, to] = ['00000000100104', PLACES.second];
    const unit = '046000000000003336';
    const at = { owner: 'own', place: from };
    const loose = await planted(at);
    const boxed = await planted({ ...at, sscc: unit });
    const suspended = await planted({ ...at, status: 'paused_circulation' });
    const sold = await planted({ ...at, status: 'in_sale' });
    const moved = await act(written(432, { subject_id: from, receiver_id: to }), 'own');
    expect([moved.document.result, moved.told.map((one) => one.doc_type)]).toEqual(['Accepted', [634]]);
    expect(await Promise.all([loose, boxed, suspended, sold].map((id) => client.pack(id)))).toMatchObject([
      { place: to, sscc: null },
      { place: to, sscc: unit },
      { place: to, status: 'paused_circulation' },
      { place: from },
    ]);
    expect((await client.control('GET', `/truth/sscc/${unit}`)).json).toMatchObject({ place: to });
    expect((await act(written(432, { subject_id: from, receiver_id: to }), 'own')).document.result).toBe('Rejected');
    const taken = await act(written(812, { shipper_id: to, receiver_id: PLACES.supplier }));
    expect([taken.document.result, taken.told.map((one) => one.doc_type)]).toEqual(['Accepted', [631]]);
    expect(await client.pack(boxed)).toMatchObject({ owner: 'supplier-a', place: PLACES.supplier, sscc: unit });
    expect((await act(written(812, { shipper_id: to, receiver_id: PLACES.warehouse }))).document.result).toBe(
      'Rejected',
    );
  });

  it('705 takes a whole series off the balance of the place', async () => {
    const [mine, other] = [await planted({ series: 'GONE' }), await planted({ ...OURS, series: 'GONE' })];
    const xml = written(705, { series_details: '', series_number: 'GONE' });
    expect((await act(xml)).document.result).toBe('Accepted');
    expect([await client.pack(mine), await client.pack(other)]).toMatchObject([
      { status: 'out_of_circulation' },
      { status: 'in_circulation' },
    ]);
  });

  it('915 packs row by row, each row all or nothing; 916 adds item by item', async () => {
    const [good, bad] = ['046000000000004449', '046000000000004456'];
    const [a, b, c] = [await planted({}), await planted({}), await planted({ status: 'in_sale' })];
    const row = (sscc: string, ids: string[]) =>
      `<detail><sscc>${sscc}</sscc><content>${ids.map((id) => `<sgtin>${id}</sgtin>`).join('')}</content></detail>`;
    const head = `<subject_id>${PLACES.supplier}</subject_id><operation_date>2026-11-21T10:00:00Z</operation_date>`;
    const write = (docType: number, element: string, body: string) =>
      `<documents version="1.38"><${element} action_id="${docType}">${head}${body}</${element}></documents>`;
    const packed = await act(write(915, 'multi_pack', `<by_sgtin>${row(good, [a])}${row(bad, [b, c])}</by_sgtin>`));
    expect(packed.document.result).toBe('Partial');
    expect([await client.pack(a), await client.pack(b)]).toMatchObject([{ sscc: good }, { sscc: null }]);
    expect((await client.control('GET', `/truth/sscc/${bad}`)).json).toMatchObject({ known: false });
    const alone = await act(write(915, 'multi_pack', `<by_sgtin>${row(bad, [b, c])}</by_sgtin>`));
    expect(alone.document.result).toBe('Rejected');
    const added = await act(
      write(916, 'multi_unit_append', `<info_append>${row(good, [b, c])}${row(bad, [a])}</info_append>`),
    );
    expect(added.document.result).toBe('Partial');
    expect([await client.pack(a), await client.pack(b), await client.pack(c)]).toMatchObject([
      { sscc: good },
      { sscc: good },
      { sscc: null },
    ]);
  });

  it('10501 and 10502 correct a till sale by its receipt, and withdraw nothing', async () => {
    for (const [sale, correction, whole, partly] of [
      [10511, 10501, 'in_sale', 'in_partial_sale'],
      [10522, 10502, 'in_discount_prescription_sale', 'in_partial_discount_prescription_sale'],
    ] as const) {
      const receipt = `receipt-${sale}`;
      const [sold, other] = [await planted({}), await planted({})];
      await act(written(sale, { sgtin: sold, receipt_id: receipt }));
      const correct = (sgtin: string, more: Values = {}) =>
        act(written(correction, { sgtin, receipt_id: 'correction', origin_receipt_id: receipt, ...more }));
      expect((await correct(other)).document.result).toBe('Rejected');
      expect((await correct(sold, { origin_receipt_id: 'none' })).document.result).toBe('Rejected');
      expect((await correct(sold)).document.result).toBe('Accepted');
      expect(await client.pack(sold)).toMatchObject({ status: whole });
      expect((await correct(sold, { corrected_part: '3/10' })).document.result).toBe('Accepted');
      expect(await client.pack(sold)).toMatchObject({ status: partly, part_used: '3/10' });
      expect((await correct(sold, { corrected_part: '5/5' })).document.result).toBe('Accepted');
      expect([await client.pack(sold), await client.pack(other)]).toMatchObject([
        { status: whole, part_used: null },
        { status: 'in_circulation' },
      ]);
    }
  });

  it('254 corrects the number of an earlier shipment for its packs, and the other side is told', async () => {
    const [sgtin, other] = [await planted({}), await planted({})];
    const { document } = await act(written(415, { sgtin, doc_num: 'WRONG' }));
    const before = await client.pack(sgtin);
    const correct = (more: Values) =>
      act(
        written(254, {
          sgtin,
          operation_id: document.request_id,
          action_id_type: '415',
          doc_num: 'RIGHT',
          ...more,
        }),
      );
    expect((await correct({ sgtin: other })).document.result).toBe('Rejected');
    expect((await correct({ action_id_type: '417' })).document.result).toBe('Rejected');
    expect((await correct({ counterparty_id: '00000000300101' })).document.result).toBe('Rejected');
    const done = await correct({});
    expect([done.document.result, done.told.map((one) => one.doc_type)]).toEqual(['Accepted', [623]]);
    const { documents } = (await client.control('GET', `/truth/documents?request_id=${document.request_id}`)).json;
    expect(documents[0]).toMatchObject({ doc_type: 415, doc_num: 'RIGHT' });
    expect(await client.pack(sgtin)).toEqual(before);
  });

  it('213 keeps SSCC numbers for their holder, 212 notes whom a participant trusts', async () => {
    const sscc = '046000000000005552';
    const book = (operation_type: string, by = 'supplier-a') =>
      act(written(213, { subject_id: by, operation_type, sscc }), by);
    expect((await book('2')).document.result).toBe('Rejected');
    expect((await book('1')).document.result).toBe('Accepted');
    expect((await book('1', 'own')).document.result).toBe('Rejected');
    const mine = await planted(OURS);
    expect((await act(written(911, { subject_id: 'own', sscc, sgtin: mine }), 'own')).document.result).toBe('Rejected');
    expect((await book('2')).document.result).toBe('Accepted');
    expect((await act(written(911, { subject_id: 'own', sscc, sgtin: mine }), 'own')).document.result).toBe('Accepted');
    expect((await book('1')).document.result).toBe('Rejected');
    const trust = (fields: Values) => act(documentOf(212, { subject_id: 'supplier-a', edit_type: '1', ...fields }));
    expect((await trust({ counterparty_id: 'own' })).document.result).toBe('Accepted');
    expect((await trust({ counterparty_info: '', inn_ul: '5004234504' })).document.result).toBe('Accepted');
    expect((await trust({ counterparty_info: '', inn_ul: '9904234504' })).document.result).toBe('Rejected');
  });

  it('who speaks by his system id speaks for all of his places', async () => {
    const [a, sscc] = [await planted({ ...OURS, place: PLACES.second }), '046000000000006665'];
    const own = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
    expect((await act(written(911, { subject_id: own, sscc, sgtin: a }), 'own')).document.result).toBe('Accepted');
    expect((await client.control('GET', `/truth/sscc/${sscc}`)).json).toMatchObject({ place: PLACES.second });
    const b = await planted({ status: 'in_realization', transfer: ON_ITS_WAY });
    await act(written(701, { subject_id: own, counterparty_id: 'supplier-a', sgtin: b }), 'own');
    expect(await client.pack(b)).toMatchObject({ owner: 'own', place: PLACES.warehouse });
  });

  it('expired packs are written off and told of by 632, a warning by 633', async () => {
    const [gone, sold] = [await planted({ ...OURS, series: 'OLD' }), await planted({ ...OURS, status: 'in_sale' })];
    const order = async (path: string, body: unknown) => (await client.control('POST', path, body)).json;
    const { packs: count, documents } = await order('/write-off', { gtin: GTIN, batch: 'OLD' });
    expect(count).toBe(1);
    const { document_id: warning } = await order('/attention', { to: 'own', description: 'Goods expire' });
    const files = await Promise.all([documents[0], warning].map((id) => client.control('GET', `/truth/files/${id}`)));
    const [writeOff = '', attention = ''] = files.map(({ json }) => Buffer.from(json.document, 'base64').toString());
    expect([violationsOf(writeOff), violationsOf(attention)]).toEqual([[], []]);
    expect([writeOff, attention]).toEqual([expect.stringContaining(gone), expect.stringContaining('Goods expire')]);
    expect(await client.pack(gone)).toMatchObject({ status: 'out_of_circulation' });
    expect((await client.control('POST', '/write-off', { sgtins: [gone, sold] })).status).toBe(400);
    expect((await client.control('POST', '/attention', { to: 'nobody', description: 'x' })).status).toBe(400);
    seen = (await client.control('GET', '/truth/documents?limit=1&after=0')).json.total;
  });
});
