import { z } from 'zod';

/** What a refusal says of the account. `passing`: nothing; it is asked again, or is the document's. */
const REFUSAL_MEANINGS = ['signature', 'certificate', 'rights', 'blocked', 'sign_in', 'passing'] as const;
type RefusalMeaning = (typeof REFUSAL_MEANINGS)[number];

/**
 * Operations by which an account changes something at the registry, and those by which it signs in: only what they are
 * answered may pause it.
 */
const JUDGED_OPERATIONS = [
  'send',
  'send_large',
  'upload_part',
  'send_finished',
  'group_check',
  'group_start',
  'sign_in_code',
  'sign_in_token',
] as const;
export type JudgedOperation = (typeof JUDGED_OPERATIONS)[number];

const some = <T extends z.ZodType>(each: T) => z.array(each).min(1).optional();

const rule = z
  .strictObject({
    means: z.enum(REFUSAL_MEANINGS),
    /** Answers of which operations; default: of all that are judged. */
    operations: some(z.enum(JUDGED_OPERATIONS)),
    httpStatus: some(z.number().int().min(400).max(499)),
    /** The registry's own codes. */
    codes: some(z.string().min(1)),
    /** Parts of its words, whatever their case; shorter ones would match by chance. */
    words: some(z.string().min(4)),
  })
  .refine(
    ({ httpStatus, codes, words }) => (httpStatus ?? codes ?? words) !== undefined,
    'needs httpStatus, codes or words',
  );

/**
 * By which answers a registry refuses the account and not the document (the interface leaves its errors open:
 * registry-interface 7.4). The first rule, in their order, whose conditions all hold says what is meant; a refusal that
 * no rule knows is the document's.
 */
export const accountRefusals = z.record(z.string().min(1), rule);
export type AccountRefusals = z.infer<typeof accountRefusals>;

/** Why the registry refuses an account; undefined where the refusal says nothing of the account. */
export interface AccountFault {
  cause: Exclude<RefusalMeaning, 'passing'>;
  code: string;
  text: string;
}

export interface Refusal {
  httpStatus: number;
  code: string;
  text: string;
  /** A server before the registry may have said it: then its HTTP status alone says nothing of the account. */
  mayBeOthers?: boolean;
}

/** What this refusal says of the account by which it was called. */
export function accountFaultOf(
  rules: AccountRefusals,
  operation: JudgedOperation,
  { httpStatus, code, text, mayBeOthers = false }: Refusal,
): AccountFault | undefined {
  const words = text.toLowerCase();
  const saysSo = (one: (typeof rules)[string]): boolean =>
    (one.httpStatus?.includes(httpStatus) ?? true) &&
    (one.codes?.includes(code) ?? true) &&
    (one.words?.some((part) => words.includes(part.toLowerCase())) ?? true);
  const found = Object.values(rules).find(
    (one) =>
      (one.operations ?? JUDGED_OPERATIONS).includes(operation) &&
      !(mayBeOthers && (one.codes ?? one.words) === undefined) &&
      saysSo(one),
  );
  return found === undefined || found.means === 'passing' ? undefined : { cause: found.means, code, text };
}
