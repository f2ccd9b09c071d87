import { isSgtin } from '#kernel';
import { z } from 'zod';
import { refuse } from '../http/refusal.js';
import { placesOf, type World } from '../packs/world.js';
import type { AwaitingEntry } from './awaiting.js';

const DOC_TYPES = { kkt: [10_511, 10_522], device: [10_521, 10_531] } as const;

const amount = z.string().regex(/^\d{1,14}(\.\d{1,2})?$/, 'is no amount such as 120.50');

const entryShape = z.strictObject({
  kind: z.enum(['kkt', 'device']),
  sgtin: z.string().refine(isSgtin, 'is no SGTIN'),
  branch: z.string(),
  doc_type: z.number().int().optional(),
  sold_part: z
    .string()
    .regex(/^\d{1,6}\/\d{1,6}$/)
    .optional(),
  price: amount.optional(),
  vat_value: amount.optional(),
  device_id: z.string().optional(),
  doc_num: z.string().optional(),
});

/** An order of the control port to queue a sale or disposal. Throws a 400 that says what is wrong. */
export function awaitingEntryOf(world: World, body: unknown, virtualMs: number): AwaitingEntry {
  const parsed = entryShape.safeParse(body);
  if (!parsed.success) throw refuse(400, z.prettifyError(parsed.error));
  const { kind, sgtin, branch, doc_type: docType = DOC_TYPES[kind][0], ...rest } = parsed.data;
  if (world.participantAt(branch) === undefined)
    throw refuse(400, `there is no place ${branch}; known are ${placesOf(world).join(', ')}`);
  if (!(DOC_TYPES[kind] as readonly number[]).includes(docType))
    throw refuse(400, `doc_type must be one of ${DOC_TYPES[kind].join(', ')}`);
  return {
    kind,
    sgtin,
    branch,
    docType,
    opMs: virtualMs,
    soldPart: rest.sold_part,
    price: rest.price,
    vatValue: rest.vat_value,
    deviceId: rest.device_id,
    docNum: rest.doc_num,
  };
}
