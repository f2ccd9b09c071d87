import { describe, expect, it } from '@jest/globals';
import { answer, ScriptedCaller } from '../../test/scripted-caller.js';
import { RegistryOperations } from '../operations/operations.js';
import { loadProfile } from '../profile.js';

const SGTIN = '04600000000015ABCDEFGHJKLMN';

describe('a whole list', () => {
  it('keeps records apart in which the registry left empty what would tell them apart', async () => {
    const entries = [
      { ORG_NAME: 'Alfa GmbH', country: 'DE' },
      { ORG_NAME: 'Beta GmbH', country: 'DE' },
    ];
    const caller = new ScriptedCaller(loadProfile('mdlp'), [
      answer({ filtered_records: entries, filtered_records_count: 2 }),
    ]);
    expect(
      await new RegistryOperations(caller).lists.walk('a', 'partners', { filter: { entityType: 8 } }),
    ).toMatchObject({ kind: 'complete', items: [{ name: 'Alfa GmbH' }, { name: 'Beta GmbH' }] });
  });

  it('gives amounts as they were written', async () => {
    const caller = new ScriptedCaller(loadProfile('mdlp'), [
      answer(`{"entries":[{"sgtin":"${SGTIN}","price":100.10,"vat_value":12345678901234567.89}],"total":1}`),
    ]);
    expect(await new RegistryOperations(caller).lists.walk('a', 'sales_awaiting')).toMatchObject({
      kind: 'complete',
      items: [{ price: '100.10', vat: '12345678901234567.89' }],
    });
  });
});

describe('a record without what tells it apart', () => {
  const strange = { batch: 'A1' };
  const page = answer({ entries: [{ sgtin: SGTIN, batch: 'A1' }, strange, 'x'], total: 3 });
  const listsOf = () => new RegistryOperations(new ScriptedCaller(loadProfile('mdlp'), [page])).lists;

  it('is set aside in a page of suspended packs, and keeps nobody from the others', async () => {
    expect(await listsOf().page('a', 'suspended_sgtins')).toMatchObject({
      kind: 'ok',
      value: {
        ...{ items: [{ sgtin: SGTIN }], total: 3 },
        strange: [
          { at: 1, written: '{"batch":"A1"}' },
          { at: 2, written: '"x"' },
        ],
      },
    });
  });

  it('makes a page of any other list not understood, and a whole list of suspended packs too', async () => {
    const problem = { kind: 'unknown', reason: 'HTTP 200: "entries"[1]: a record without "sgtin"' };
    expect(await listsOf().page('a', 'sgtins')).toMatchObject(problem);
    expect(await listsOf().walk('a', 'suspended_sgtins', { patient: false })).toMatchObject({
      kind: 'stopped',
      outcome: problem,
    });
  });
});

describe('a page of a whole list that fails', () => {
  const entry = answer({ entries: [{ sgtin: 'a' }], total: 1 });
  const lost = { kind: 'failed', written: true, reason: 'ECONNRESET' } as const;
  const limited = answer({ error_description: '100 ms' }, 429);
  const walk = async (
    answers: ConstructorParameters<typeof ScriptedCaller>[1],
  ): Promise<{ caller: ScriptedCaller; outcome: unknown }> => {
    const caller = new ScriptedCaller(loadProfile('mdlp'), answers);
    return { caller, outcome: await new RegistryOperations(caller).lists.walk('a', 'sgtins') };
  };

  it('is read again, each time after twice the wait', async () => {
    const { caller, outcome } = await walk([lost, limited, answer('<html/>', 502, 'text/html'), entry]);
    expect(outcome).toMatchObject({ kind: 'complete', items: [{ sgtin: 'a' }], pages: 4 });
    expect(caller.waitsMs).toEqual([100, 200, 400]);
  });

  it('is given up after twenty failures in a row, and at once where the registry says no', async () => {
    const gone = await walk([lost]);
    expect(gone.outcome).toMatchObject({ kind: 'stopped', outcome: { kind: 'unknown' } });
    expect(gone.caller.waitsMs).toEqual([100, 200, 400, 800, ...Array.from({ length: 15 }, () => 1000)]);
    const refused = await walk([answer({ error_description: 'no right' }, 403)]);
    expect(refused.outcome).toMatchObject({ kind: 'stopped', outcome: { kind: 'refused' } });
    expect(refused.caller.asked).toHaveLength(1);
  });
});
