import { z } from 'zod';
import { PedigreeError } from '#kernel';

export const BUNDLE_FORMAT = 'pedigree-proof/1';
const MOST_PATH = 64;

/** A proof that travels as one file, and is checked without us. */
const bundle = z.strictObject({
  format: z.literal(BUNDLE_FORMAT),
  /** The signed note of the tree (C2SP tlog-checkpoint). */
  checkpoint: z.string().max(10_000),
  events: z
    .array(
      z.strictObject({
        /** Index of the leaf, from 0. */
        leaf: z.number().int().min(0),
        /** The leaf's bytes: the event as RFC 8785 JSON. */
        event: z.string(),
        /** PATH(leaf, D[size]) of RFC 6962, 2.1.1, from the leaf up, hexadecimal. */
        path: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(MOST_PATH),
      }),
    )
    .min(1)
    .max(10_000),
  /** Events of the stream that are newer than the checkpoint and not in this proof. */
  notYetSealed: z.number().int().min(0),
});

export type ProofBundle = z.infer<typeof bundle>;

/** Reads a proof from text. Throws PedigreeError that names the place. */
export function parseBundle(text: string): ProofBundle {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PedigreeError('invalid_json', `the proof is not JSON: ${(error as Error).message}`, { field: '' });
  }
  const parsed = bundle.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = `/${(issue?.path ?? []).map(String).join('/')}`;
  throw new PedigreeError('invalid_parameter', `${field}: ${issue?.message ?? 'is invalid'}`, { field });
}
