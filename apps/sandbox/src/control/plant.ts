import { isSgtin, isSscc } from '#kernel';
import { z } from 'zod';
import type { Container, PackState, PackStore } from '../packs/packs.js';
import { placesOf, type World } from '../packs/world.js';

const MAX_PACKS = 100_000;

const stateShape = {
  owner: z.string(),
  place: z.string(),
  status: z.string().default('in_circulation'),
  series: z.string().optional(),
  sscc: z.string().optional(),
  expires: z
    .string()
    .regex(/^\d{2}\.\d{2}\.\d{4}$/, 'is not a day like 31.12.2028')
    .optional(),
  funding: z.number().int().min(1).max(5).optional(),
  transfer: z
    .object({ from: z.string(), to: z.string(), order: z.enum(['direct', 'reverse']).default('direct') })
    .optional(),
};

const plantShape = z.object({
  packs: z
    .array(z.strictObject({ sgtin: z.string(), ...stateShape }))
    .max(MAX_PACKS)
    .default([]),
  /** Packs of one GTIN whose serials are a prefix and a number, together 13 characters. */
  ranges: z
    .array(
      z.strictObject({
        gtin: z.string(),
        prefix: z.string().max(12),
        from: z.number().int().nonnegative(),
        count: z.number().int().positive().max(MAX_PACKS),
        ...stateShape,
      }),
    )
    .default([]),
});

type Planted = z.infer<typeof plantShape>['packs'][number];

/**
 * Checks an order to plant packs ({ packs } or { ranges }) and returns how to carry it out. A pack that exists is
 * overwritten; a container that is named comes to be. Throws an Error that names what is wrong, and then nothing is
 * planted.
 */
export function plantPacks(store: PackStore, world: World, body: unknown): () => { packs: number } {
  const parsed = plantShape.safeParse(body);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  const planted = [...parsed.data.packs, ...parsed.data.ranges.flatMap(expand)];
  if (planted.length > MAX_PACKS) throw new Error(`more than ${MAX_PACKS} packs in one order`);
  for (const pack of planted) check(world, pack);
  return () => {
    const states = new Map<string, PackState>();
    for (const pack of planted) put(store, pack, states);
    return { packs: planted.length };
  };
}

type Range = z.infer<typeof plantShape>['ranges'][number];

function expand({ gtin, prefix, from, count, ...state }: Range): Planted[] {
  const digits = 13 - prefix.length;
  return Array.from({ length: count }, (_, index) => ({
    sgtin: `${gtin}${prefix}${String(from + index).padStart(digits, '0')}`,
    ...state,
  }));
}

function check(world: World, pack: Planted): void {
  if (!isSgtin(pack.sgtin)) throw new Error(`${pack.sgtin} is no SGTIN`);
  if (pack.sscc !== undefined && !isSscc(pack.sscc)) throw new Error(`${pack.sscc} is no SSCC`);
  const owner = world.participants.get(pack.owner);
  if (owner === undefined)
    throw new Error(`there is no participant "${pack.owner}"; known are ${[...world.participants.keys()].join(', ')}`);
  for (const place of [pack.place, pack.transfer?.from, pack.transfer?.to]) {
    if (place !== undefined && world.participantAt(place) === undefined)
      throw new Error(`there is no place ${place}; known are ${placesOf(world).join(', ')}`);
  }
}

function put(store: PackStore, { sgtin, sscc, ...rest }: Planted, states: Map<string, PackState>): void {
  if (store.isTouched(sgtin)) store.takeOutPack(sgtin);
  const key = JSON.stringify([sscc, rest]);
  let state = states.get(key);
  if (state === undefined) states.set(key, (state = sscc === undefined ? rest : { ...rest, sscc }));
  store.setPack(sgtin, state);
  if (sscc === undefined) return;
  let unit: Container | undefined = store.container(sscc);
  if (unit === undefined || unit.unpacked) {
    unit = {
      sscc,
      owner: rest.owner,
      place: rest.place,
      parent: undefined,
      packs: new Set(),
      containers: new Set(),
      unpacked: false,
    };
    store.addContainer(unit);
  }
  unit.packs.add(sgtin);
}
