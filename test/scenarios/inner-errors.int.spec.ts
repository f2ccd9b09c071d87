import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const LIMIT_MS = 180_000;
const SOUND = '046000000000000017';
const SPOILT = '046000000000000024';
const single = doc.pack(0, 0, 'ALONE');
const [inSound, inSpoilt, suspended] = [doc.pack(1, 0, 'BOXED'), doc.pack(2, 0, 'BOXED'), doc.pack(3, 0, 'BOXED')] as [
  string,
  string,
  string,
];

interface Told {
  id: string;
  result: string;
  code?: string;
}

/**
 * What a shipment of two containers and a pack comes to, when one pack in one container is suspended (public-facts
 * 2.3).
 */
const CASES = [
  {
    innerErrors: 'pack',
    about: 'names the pack inside',
    items: [
      { id: SOUND, result: 'undetermined', code: '12' },
      { id: SPOILT, result: 'undetermined', code: '12' },
      { id: single, result: 'accepted' },
      { id: suspended, result: 'undetermined', code: '12' },
    ],
    histories: { [single]: 'applied', [suspended]: 'undetermined' },
  },
  {
    innerErrors: 'nothing',
    about: 'names no object',
    items: [SOUND, SPOILT, single].map((id) => ({ id, result: 'undetermined', code: '12' })),
    histories: { [single]: 'undetermined' },
  },
] as const;

describe.each(CASES)('a receipt whose error $about', ({ innerErrors, items, histories }) => {
  let stack: Stack;
  let requestId: string;

  beforeAll(async () => {
    stack = await quickStack('interface-v1', { innerErrors });
    const at = (sgtin: string, more: object = {}) => ({ sgtin, owner: 'own', place: doc.PLACES.warehouse, ...more });
    const boxed = [
      at(inSound, { sscc: SOUND }),
      at(inSpoilt, { sscc: SPOILT }),
      at(suspended, { sscc: SPOILT, status: 'paused_circulation' }),
    ];
    await stack.control('/plant', { packs: [at(single), ...boxed] });
    ({ request_id: requestId } = await stack.client.command(
      JSON.stringify({ command_id: 'ship', account: 'main', xml: doc.moveOrder([SOUND, SPOILT, single]) }),
    ));
    const outcome = async () => (await stack.client.get<{ outcome?: string }>(`/v1/documents/${requestId}`)).outcome;
    await until('it ends', async () => (await outcome()) !== undefined, LIMIT_MS);
    await stack.caughtUp();
    expect(await outcome()).toBe('partial');
  }, LIMIT_MS + 30_000);

  afterAll(() => stack.stop());

  it('leaves undetermined what it may mean, and says so to the ERP', async () => {
    const told = await stack.client.get<{ items: Told[] }>(`/v1/documents/${requestId}/items`);
    expect(
      told.items
        .map(({ id, result, code }) => ({ id, result, ...(code === undefined ? {} : { code }) }))
        .sort((a, b) => a.id.localeCompare(b.id)),
    ).toEqual([...items].sort((a, b) => a.id.localeCompare(b.id)));
  });

  it('leaves it undetermined in the history of each pack', async () => {
    for (const [id, result] of Object.entries(histories)) {
      const { movements } = await stack.client.get<{ movements: { result: string }[] }>(`/v1/packs/${id}/history`);
      expect([id, movements.map((one) => one.result)]).toEqual([id, [result]]);
    }
  });

  it('is no guess: the registry did ship the sound container and not the other', async () => {
    const status = async (sgtin: string) => (await stack.control<{ status: string }>(`/truth/packs/${sgtin}`)).status;
    expect(await Promise.all([single, inSound, inSpoilt, suspended].map(status))).toEqual([
      'in_realization',
      'in_realization',
      'in_circulation',
      'paused_circulation',
    ]);
    expect(await stack.control('/violations')).toMatchObject({ count: 0 });
  });
});
