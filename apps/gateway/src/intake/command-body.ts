import { z } from 'zod';
import { PedigreeError } from '#kernel';

/** The shape of an ERP command, for people, for the check and for the API's documentation: one source. */
export const commandBody = z
  .strictObject({
    command_id: z.string().trim().min(1).max(200).describe("The ERP's own id of this command. The same id again is a no-op; with other content it is refused."),
    type: z.literal('send_document').default('send_document'),
    account: z.string().min(1).max(100).optional().describe('Name of the registry account to send with. Default: the first of the accounts file.'),
    reference: z.string().min(1).max(200).optional().describe("The ERP's reference, given back with every outcome."),
    after: z.array(z.string().min(1).max(200)).max(100).default([]).describe('Ids of commands whose documents must have concluded accepted or partial before this one is sent.'),
    xml: z.string().min(1).optional().describe('The document as XML. Either this or `document`.'),
    document: z
      .looseObject({ action_id: z.number().int().describe('Scheme number, for example 415.') })
      .optional()
      .describe('The document as JSON: action_id, then the children of its action element by name; an array repeats an element.'),
  })
  .refine((body) => (body.xml === undefined) !== (body.document === undefined), { error: 'give either `xml` or `document`, and not both', path: ['xml'] });

export type CommandBody = z.infer<typeof commandBody>;

/** Parses and checks one command. Errors name the field by RFC 6901 pointer. */
export function parseCommand(bytes: Uint8Array): CommandBody {
  if (bytes.length === 0) throw new PedigreeError('missing_body', 'the command has no body; send JSON with command_id and xml or document', { field: '' });
  const parsed = commandBody.safeParse(parseJson(bytes));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = `/${(issue?.path ?? []).map(String).join('/')}`;
  throw new PedigreeError('invalid_command', `${field}: ${issue?.message ?? 'invalid'}`, { field });
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new PedigreeError('invalid_json', `the body is not JSON: ${(error as Error).message}`, { field: '' });
  }
}
