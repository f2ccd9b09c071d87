import { z } from 'zod';
import { invalidParameter, PedigreeError, type Sha256 } from '#kernel';

const MOST_NAME_BYTES = 200;
/** No folders, nothing hidden, and no name that the reconciler takes for a file that is being written. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._()-]*\.(csv|tsv|txt|ndjson|jsonl|parquet|xlsx)$/iu;

/** The file that is to be uploaded. */
export const stockUploadBody = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must be letters, digits, blanks and ._()- with the end csv, tsv, txt, ndjson, jsonl, parquet or xlsx')
    .refine((name) => Buffer.byteLength(name) <= MOST_NAME_BYTES, `must have at most ${MOST_NAME_BYTES} bytes`)
    .describe('Name of the file, without folders.'),
  bytes: z.number().int().min(1).describe('Its length.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')
    .describe('SHA-256 of the whole file.'),
  moment: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .optional()
    .describe('When the stock was true, where its rows do not say it. Default: when the upload is finished.'),
});

/** The number of a part. @throws PedigreeError invalid_parameter. */
export function partNumber(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new PedigreeError('invalid_parameter', `n: ${text} is not a number of a part`, { field: 'n', item: text });
}

/** The SHA-256 of a Content-Digest header (RFC 9530). @throws PedigreeError invalid_parameter. */
export function contentDigest(header: string | string[] | undefined): Sha256 {
  const [, base64] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?:,|$)/.exec(String(header ?? '')) ?? [];
  if (base64 !== undefined) return Buffer.from(base64, 'base64').toString('hex');
  throw invalidParameter('Content-Digest', 'must be there as sha-256=:<44 characters of base64>:');
}
