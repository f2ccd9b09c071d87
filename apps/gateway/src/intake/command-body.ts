import { z } from 'zod';
import { MAX_GROUP_MEMBERS } from '#domain';
import { firstFault, parseStrictJson, PedigreeError, PLAIN_WORDS, pointer } from '#kernel';
import { halfPairIn } from '../api/half-pair.js';

/**
 * NUL cannot be stored at all, the other control characters cannot be seen, and half of a surrogate pair cannot be
 * sent.
 */
const UNFIT = /\p{Cc}|\p{Surrogate}/u;

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((value) => !UNFIT.test(value), {
      error: ({ input }) =>
        `holds a control character or half of a surrogate pair, at position ${String(input).search(UNFIT)}`,
    });

/** Ids are compared as they stand: blanks around one would make two of what people take for one. */
const id = (most: number) =>
  text(most).refine((value) => value.trim() === value, { error: 'must not begin or end with blanks' });

export const commandId = id(200);
export const accountName = id(100);
export const reference = text(200);

const xml = z
  .string()
  .min(1)
  // What else XML cannot hold is said by its reader, with the line.
  .refine((value) => halfPairIn(value) === undefined, { error: ({ input }) => halfPairIn(String(input)) })
  .optional()
  .describe('The document as XML. Either this or `document`.');
const document = z
  .looseObject({ action_id: z.number().int().describe('Scheme number, for example 415.') })
  .optional()
  .describe(
    'The document as JSON: action_id, then the children of its action element by name; an array repeats an element. ' +
      'Each `sgtin` and `sscc` may be a scan of the code: GS1 elements, with or without separators, FNC1 and ' +
      'brackets, or typed under a Russian keyboard layout. What was mended is told in `warnings`.',
  );

const oneDocument = (given: { xml?: unknown; document?: unknown }): string =>
  given.xml === undefined
    ? 'neither `xml` nor `document` is given: one of them holds the document'
    : '`xml` and `document` are given: give one of them';
const EITHER = {
  error: ({ input }: { input?: unknown }) => oneDocument(input as { xml?: unknown }),
  path: ['xml'],
};
const isOneDocument = (given: { xml?: unknown; document?: unknown }): boolean =>
  (given.xml === undefined) !== (given.document === undefined);

/** One document of a group. It is known by its own command id, as if it had come by itself. */
export const memberBody = z
  .strictObject({
    command_id: commandId.describe("The ERP's own id of this member."),
    reference: reference.optional().describe("The ERP's reference, given back with every outcome."),
    xml,
    document,
  })
  .refine(isOneDocument, EITHER);

export type MemberBody = z.infer<typeof memberBody>;

const members = z
  .array(memberBody)
  .min(1)
  .max(MAX_GROUP_MEMBERS)
  .describe('In the order in which the registry processes them.');
const group = z
  .strictObject({ members })
  .optional()
  .describe('For type send_group: documents that are processed in order, until one fails.');

const resume = z
  .strictObject({
    group: commandId.describe('The command of the group that halted.'),
    corrected: memberBody
      .optional()
      .describe('In place of the member that stopped the group; absent where none did, or it was accepted since.'),
    reason: text(1_000).optional().describe('Why, where a person decided it: kept in the log.'),
  })
  .optional()
  .describe(
    'For type resume_group: what was not processed is sent again, in order, after the corrected member. Over the ' +
      'bus only with the property user_id.',
  );

/** The shape of an ERP command, for people, for the check and for the API's documentation: one source. */
export const commandBody = z
  .strictObject({
    command_id: commandId.describe(
      "The ERP's own id of this command. The same id again is a no-op; with other content it is refused.",
    ),
    type: z
      .enum(['send_document', 'send_group', 'resume_group'])
      .default('send_document')
      .describe('What is asked for: one document, documents in order, or what was left of a group that halted.'),
    account: accountName
      .optional()
      .describe(
        'Name of the registry account to send with. Default: the query parameter `account`, else the first of ' +
          'the accounts file.',
      ),
    reference: reference.optional().describe("The ERP's reference, given back with every outcome."),
    after: z
      .array(commandId)
      .max(100)
      .default([])
      .describe(
        'Ids of commands whose documents or groups must have concluded accepted or partial before this one is ' +
          'sent. They may come later than this command, but not wait for it.',
      ),
    waive_item_wait: z
      .boolean()
      // Without a default: the digest of a command without the field stays what it was.
      .optional()
      .describe(
        'True: it is sent without waiting for earlier documents that name the same packs, or containers around ' +
          'them. Later ones still wait for it.',
      ),
    xml,
    document,
    group,
    resume,
  })
  .superRefine((body, issues) => {
    const misplaced = misplacedField(body);
    if (misplaced !== undefined) issues.addIssue({ code: 'custom', ...misplaced });
  });

/** Which content belongs to which type; the first that does not, and why. */
function misplacedField(body: {
  type: string;
  after: string[];
  xml?: unknown;
  document?: unknown;
  group?: unknown;
  resume?: unknown;
}): { message: string; path: string[] } | undefined {
  const wanted = { send_document: undefined, send_group: 'group', resume_group: 'resume' }[body.type];
  for (const [field, type] of [
    ['group', 'send_group'],
    ['resume', 'resume_group'],
  ] as const) {
    if (body[field] !== undefined && wanted !== field)
      return { message: `belongs to type ${type}, and this is ${body.type}`, path: [field] };
  }
  if (wanted === undefined) return isOneDocument(body) ? undefined : { message: oneDocument(body), path: EITHER.path };
  if (body[wanted as 'group'] === undefined) return { message: `is needed for type ${body.type}`, path: [wanted] };
  for (const field of ['xml', 'document'] as const)
    if (body[field] !== undefined) return { message: `does not belong to type ${body.type}`, path: [field] };
  return body.type === 'resume_group' && body.after.length > 0
    ? { message: 'does not belong to type resume_group', path: ['after'] }
    : undefined;
}

export type CommandBody = z.infer<typeof commandBody>;

/**
 * Parses and checks one command. `account` is for a command that names none. Errors name the field by RFC 6901 pointer.
 */
export function parseCommand(bytes: Uint8Array, account?: string): CommandBody {
  const command = checkCommand(readBody(bytes));
  return account === undefined || command.account !== undefined ? command : { ...command, account };
}

/** @throws PedigreeError missing_body, invalid_json. */
export function readBody(bytes: Uint8Array): unknown {
  if (bytes.length > 0) return parseStrictJson(bytes);
  const message = 'the command has no body; send JSON with command_id and xml or document';
  throw new PedigreeError('missing_body', message, { field: '' });
}

/** @throws PedigreeError invalid_command that names the field. */
export function checkCommand(given: unknown): CommandBody {
  const parsed = commandBody.safeParse(given, PLAIN_WORDS);
  if (!parsed.success) throw invalidBody(parsed.error, 'command', commandBody);
  return parsed.data;
}

/** The first fault of a body that is not of its shape. */
export function invalidBody(
  error: z.core.$ZodError,
  what: string,
  { shape }: { shape: Record<string, unknown> },
): PedigreeError {
  const { path, message, isUnknown } = firstFault(error);
  const field = pointer(path);
  const known = path.length === 1 ? `; known are ${Object.keys(shape).join(', ')}` : '';
  const why = isUnknown ? `is not a field of a ${what}${known}` : message;
  return new PedigreeError('invalid_command', `${field === '' ? `the ${what}` : field}: ${why}`, { field });
}
