import { z } from 'zod';
import { canonicalJson, isSgtin, isSscc } from '#kernel';

/** Items of one answer that is taken, as many as a document may name; a pallet holds some thousands. */
const MOST_TOLD_ITEMS = 25_000;
/** Containers within containers. */
const MOST_TOLD_LEVELS = 20;

const toldItem = z.strictObject({
  /** SGTIN or SSCC. */
  id: z.string(),
  /** The container that holds it directly. */
  into: z.string(),
  series: z.exactOptional(z.string()),
  /** YYYY-MM-DD. */
  expiresOn: z.exactOptional(z.string()),
});
const toldContent = z.strictObject({ format: z.literal(1), sscc: z.string(), items: z.array(toldItem) });

export type ToldItem = z.infer<typeof toldItem>;
/** What the registry told of a container: each container comes before what it holds. */
export type ToldContent = Omit<z.infer<typeof toldContent>, 'format'>;

/** As evidence: canonical JSON, whatever the registry's own answer looked like. */
export const writeToldContent = ({ sscc, items }: ToldContent): Buffer =>
  Buffer.from(canonicalJson({ format: 1, sscc, items }));

/** Throws on anything that `writeToldContent` has not written. */
export function readToldContent(bytes: Uint8Array): ToldContent {
  const { sscc, items } = toldContent.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  return { sscc, items };
}

/** Why this cannot be what a container holds; undefined when it can. */
export function problemOfContent({ sscc, items }: ToldContent): { reason: 'not_understood' | 'too_large' } | undefined {
  if (items.length > MOST_TOLD_ITEMS) return { reason: 'too_large' };
  const levels = new Map([[sscc, 0]]);
  for (const { id, into } of items) {
    const level = levels.get(into);
    const isContainer = isSscc(id);
    // Named twice, in a container that nobody named before, or no identifier at all.
    if (level === undefined || levels.has(id) || !(isContainer || isSgtin(id))) return { reason: 'not_understood' };
    if (level >= MOST_TOLD_LEVELS) return { reason: 'too_large' };
    levels.set(id, level + 1);
  }
  return undefined;
}
