import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** What the sample needs to know of the country that the sandbox plays (apps/sandbox/data/world.json, read as data). */
const shape = z.looseObject({
  participants: z.array(
    z.looseObject({
      key: z.string(),
      systemId: z.string(),
      branches: z.array(z.string()).min(1),
      retailBranches: z.array(z.string()).default([]),
    }),
  ),
  products: z.array(z.looseObject({ gtin: z.string(), supplier: z.string() })).min(1),
  standingConsignments: z.looseObject({ firstForeignConsignment: z.number(), firstUnknownIndex: z.number() }),
});

export type World = z.infer<typeof shape>;
export type Participant = World['participants'][number];

export const readWorld = (file: URL): World => shape.parse(JSON.parse(readFileSync(file, 'utf8')));

export function participant(world: World, key: string): Participant {
  const found = world.participants.find((one) => one.key === key);
  if (found === undefined) throw new Error(`the world knows no participant ${key}`);
  return found;
}
