import { randomUUID } from 'node:crypto';
import { isGtin, isSgtin } from '#kernel';
import { z } from 'zod';
import { refuse } from '../http/refusal.js';
import type { Decision } from './suspensions.js';

const MAX_PACKS = 10_000;

const orderShape = z
  .strictObject({
    halt_type: z.enum(['suspend', 'cancel']).default('suspend'),
    gtin: z.string().refine(isGtin, 'is no GTIN').optional(),
    batch: z.string().min(1).max(20).optional(),
    sgtins: z.array(z.string().refine(isSgtin, 'is no SGTIN')).min(1).max(MAX_PACKS).optional(),
    halt_doc_num: z.string().min(1).max(200).optional(),
  })
  .refine(
    ({ gtin, batch, sgtins }) =>
      sgtins === undefined ? gtin !== undefined && batch !== undefined : gtin === undefined && batch === undefined,
    {
      error: 'either gtin and batch, or sgtins is expected',
    },
  )
  .refine(({ sgtins = [] }) => new Set(sgtins.map((sgtin) => sgtin.slice(0, 14))).size <= 1, {
    error: 'the packs of one decision are of one GTIN',
  });

/**
 * An order of the control port to suspend a series or packs, or to cancel that, as a decision. Throws a 400 that says
 * what is wrong.
 */
export function decisionOf(body: unknown, virtualMs: number): Decision {
  const parsed = orderShape.safeParse(body);
  if (!parsed.success) throw refuse(400, z.prettifyError(parsed.error));
  const { halt_type: haltType, batch, sgtins, halt_doc_num: docNum = 'SANDBOX-1' } = parsed.data;
  const gtin = parsed.data.gtin ?? (sgtins?.[0] as string).slice(0, 14);
  return {
    haltId: randomUUID(),
    haltType,
    docNum,
    docDateMs: virtualMs,
    haltDateMs: virtualMs,
    gtin,
    batch,
    ...(sgtins === undefined ? {} : { sgtins: [...new Set(sgtins)] }),
  };
}
