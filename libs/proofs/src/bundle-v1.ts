import { PedigreeError } from '#kernel';
import { isAsWritten } from './as-written.js';
import * as z from './shape.js';

const FORMAT_V1 = 'pedigree-proof/1';
const MOST_PATH = 64;

/** A proof as versions before wrote it: one JSON document, whose leaves are whole events. It still holds. */
const bundle = z.strictObject({
  format: z.literal(FORMAT_V1),
  /** The signed note of the tree (C2SP tlog-checkpoint). */
  checkpoint: z.string().max(10_000),
  /** The signed notes of every break of the log before this checkpoint; absent where there was none. */
  breaks: z.array(z.string().max(10_000)).min(1).max(10_000).optional(),
  events: z
    .array(
      z.strictObject({
        /** Index of the leaf, from 0. */
        leaf: z.int().min(0),
        /** The leaf's bytes: the event as RFC 8785 JSON. */
        event: z.string(),
        /** PATH(leaf, D[size]) of RFC 6962, 2.1.1, from the leaf up, hexadecimal. */
        path: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(MOST_PATH),
      }),
    )
    .min(1)
    .max(10_000),
  /** Events of the stream that are newer than the checkpoint and not in this proof. */
  notYetSealed: z.int().min(0),
});

type BundleV1 = z.infer<typeof bundle>;

/** Reads a proof from text. Throws PedigreeError that names the place. */
export function parseBundleV1(text: string): BundleV1 {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PedigreeError('invalid_json', `the proof is not JSON: ${(error as Error).message}`, { field: '' });
  }
  const trimmed = text.replaceAll('\r', '').trimEnd();
  try {
    const parsed = bundle.parse(value);
    if ([2, 0].some((blanks) => isAsWritten(trimmed, value, blanks))) return parsed;
  } catch (error) {
    if (!(error instanceof z.WrongShape)) throw error;
    const field = `/${error.path.join('/')}`;
    throw new PedigreeError('invalid_parameter', `${field}: ${error.message}`, { field });
  }
  throw new PedigreeError('invalid_parameter', 'the proof has a name twice, or is not written as proofs are', {
    field: '',
  });
}
