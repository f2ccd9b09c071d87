import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#kernel';
import { answer, ScriptedCaller } from '../../test/scripted-caller.js';
import { loadProfile } from '../profile.js';
import { RegistryOperations } from './operations.js';

const SSCC = '046000000000000018';
const SGTIN = '04600000000015ABCDEFGHJKLMN';

const against = (came: JsonObject): RegistryOperations =>
  new RegistryOperations(new ScriptedCaller(loadProfile('mdlp'), [answer(came)]));

describe('partners', () => {
  const PLACE = { id: '00000000200101', address_resolved: { code: 0, address: 'Street 1' }, status: 1 };

  it.each([
    ['old', { reg_entity_type: 1, country: 'RU', branches: [PLACE.id], op_date: { $date: 1_609_556_645_000 } }],
    ['new', { entity_type: 1, country_code: 'RU', branches: [PLACE], op_date: { $date: '2021-01-02T03:04:05.000Z' } }],
  ])('are read in their %s shape', async (_age, fields) => {
    const record = { system_subj_id: 'p', ORG_NAME: 'Alfa', ...fields };
    const came = { filtered_records: [record], filtered_records_count: 1 };
    expect(await against(came).lists.page('a', 'partners', { filter: { entityType: 1 } })).toMatchObject({
      kind: 'ok',
      value: {
        items: [
          {
            systemSubjectId: 'p',
            name: 'Alfa',
            entityType: 1,
            country: 'RU',
            changedAt: '2021-01-02T03:04:05.000Z',
            fields: record,
          },
        ],
      },
    });
  });
});

describe('the units in a unit', () => {
  it.each([
    ['old', [{ sscc: 'B' }]],
    ['new', [{ sscc: SSCC }, { sscc: 'B' }]],
  ])('are those inside alone, in the %s shape', async (_age, down) => {
    expect(await against({ up: [{ sscc: SSCC }], down }).ssccs.hierarchy('a', SSCC)).toMatchObject({
      kind: 'ok',
      value: { up: [{ sscc: SSCC }], down: [{ sscc: 'B' }] },
    });
  });
});

describe('the day of a decision', () => {
  it.each(['2026-01-01', '2026-01-01T00:00:00Z'])('is a day, written as %s', async (date) => {
    const childs = [{ sgtin: SGTIN, pause_decision_info: { id: 'h', date } }];
    expect(await against({ down: { sscc: 'A', childs } }).ssccs.fullHierarchy('a', 'A')).toMatchObject({
      value: { down: [{ packs: [{ suspension: { decidedOn: '2026-01-01' } }] }] },
    });
  });
});

describe('a sale that waits', () => {
  it.each([
    ['old', { price: '120.50', vat_value: '10.00' }],
    ['new', { price: 120.5, vat_value: 10 }],
  ])('names amounts as decimal texts, in the %s shape', async (_age, amounts) => {
    const came = { entries: [{ sgtin: SGTIN, ...amounts }], total: 1 };
    expect(await against(came).lists.page('a', 'sales_awaiting')).toMatchObject({
      value: { items: [{ price: '120.50', vat: '10.00' }] },
    });
  });
});
