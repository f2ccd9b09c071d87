import { z } from 'zod';
import { buildDocument, validateDocument, type DocumentJson, type SchemaSets, type Validation } from '#documents';
import { defined, PedigreeError } from '#kernel';
import { ItemWarnings } from '../intake/item-warnings.js';

const problem = z.strictObject({
  line: z.int().optional().describe('Of the XML, from 1; absent for a document given as JSON.'),
  path: z.string().describe('XPath of the element or attribute, or JSON pointer of the field that no XML was made of.'),
  sentence: z.string().describe('What is wrong, for a person.'),
});

export const validation = z.strictObject({
  valid: z.boolean().describe('Whether nothing is wrong with it.'),
  schema_set: z.string().optional().describe('Name of the schema set that judged; absent where none could.'),
  version: z.string().optional().describe('As the document says.'),
  doc_type: z.int().optional().describe('Scheme number, for example 415.'),
  problems: z.array(problem).describe('All that is wrong, in the order of the document; at most 1,000.'),
  more: z.boolean().describe('Whether more is wrong than is told.'),
});

export const validateBody = z
  .looseObject({ action_id: z.number().int().describe('Scheme number, for example 701.') })
  .describe('The document as JSON, as in `document` of a command.');

const answered = ({ problems, more, schemaSet, version, docType }: Validation): z.infer<typeof validation> => ({
  valid: problems.length === 0,
  ...defined({ schema_set: schemaSet, version, doc_type: docType }),
  problems: problems.map(({ line, path, sentence }) => ({ ...defined({ line }), path, sentence })),
  more,
});

export const validatedXml = (xml: Uint8Array, schemas: SchemaSets): z.infer<typeof validation> =>
  answered(validateDocument(xml, schemas));

/**
 * Whoever gave JSON has never seen the XML that is made of it: no line of that is told. Scans are read as in a command,
 * and what is none is one of the problems.
 */
export function validatedJson(document: DocumentJson, schemas: SchemaSets): z.infer<typeof validation> {
  try {
    const read = new ItemWarnings('leave').readItems(document, '');
    const { problems, ...rest } = validateDocument(buildDocument(read, schemas), schemas);
    return answered({ ...rest, problems: problems.map(({ path, sentence }) => ({ path, sentence })) });
  } catch (error) {
    if (!(error instanceof PedigreeError)) throw error;
    const { field, element } = error.place;
    const path = field ?? element ?? '';
    const sentence = error.message.startsWith(`${path}: `) ? error.message.slice(path.length + 2) : error.message;
    return { valid: false, doc_type: document.action_id, problems: [{ path, sentence }], more: false };
  }
}
