import { z } from 'zod';
import { defined, ERROR_CODES, PedigreeError, type ErrorCode, type ErrorPlace } from '#kernel';
import { ANSWERS } from './answers.js';
import { EPCIS } from './epcis-answer.js';
import { MOST_EXCEL_ROWS } from './excel.js';
import { FILE_TYPES, HTML } from './file-types.js';
import { BODIES, type OperationWithBody } from './openapi-examples.js';
import { problemOf } from './problem.filter.js';

/** What the description of every operation is made of. */

export const text = { type: 'string' };
const json = (schema: object) => ({ 'application/json': { schema } });

export const answer = (name: keyof typeof ANSWERS) => json({ $ref: `#/components/schemas/${name}` });

/** An answer of this shape. */
export const answered = (name: keyof typeof ANSWERS, description: string) => ({ description, content: answer(name) });

/** The same answer as rows of one file, for who accepts that. */
export const orFile = (name: keyof typeof ANSWERS, description: string) => ({
  description: `${description}; as NDJSON, CSV or Excel all rows in one file`,
  content: {
    ...answer(name),
    [FILE_TYPES.ndjson]: { schema: text },
    [FILE_TYPES.csv]: { schema: text },
    [FILE_TYPES.excel]: { schema: { ...text, format: 'binary' } },
  },
});

/** The same answer as a page to print, for who accepts that. */
export const orPage = ({ description, content }: { description: string; content: object }) => ({
  description,
  content: { ...content, [HTML]: { schema: text } },
});

/** What holds of the files of `orFile`. */
export const FILES =
  'By Accept all rows come in one file: application/x-ndjson, text/csv or Excel (' +
  `${FILE_TYPES.excel}, at most ${MOST_EXCEL_ROWS.toLocaleString('en')} rows, else 422). ` +
  'When NDJSON or CSV cannot be completed the connection breaks off. In CSV a text that a spreadsheet would take for ' +
  'a formula begins with an apostrophe.';

/** The same answer as an EPCIS document, for who accepts that. */
export const orEpcis = ({ description, content }: { description: string; content: object }) => ({
  description: `${description}; with Accept: ${EPCIS} what it tells in EPCIS 2.0`,
  content: { ...content, [EPCIS]: { schema: { type: 'object', description: EPCIS_DOCUMENT } } },
});
const EPCIS_DOCUMENT =
  'An EPCISDocument (GS1 EPCIS 2.0, JSON-LD). Items are GS1 Digital Link addresses, and eventID is the event hash of ' +
  'CBV 2.0. What is no event is in pedigree:leftOut, each with its reason.';

/** A body of JSON, with the examples of its operation. */
export const body = (
  operationId: OperationWithBody,
  schema: z.ZodType | object,
  { required = true, more = {} } = {},
) => {
  const described = schema instanceof z.ZodType ? z.toJSONSchema(schema, { io: 'input' }) : schema;
  return { required, content: { 'application/json': { schema: described, examples: BODIES[operationId] }, ...more } };
};

/** Members may be added to an answer within v1, so that a client must not refuse what it does not know. */
export const answerSchemas = Object.fromEntries(
  Object.entries(ANSWERS).map(([name, schema]) => [
    name,
    z.toJSONSchema(schema, { override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties }),
  ]),
);

export const problemSchema = {
  type: 'object',
  properties: {
    type: { ...text, description: 'Names the kind of problem: `urn:pedigree:problem:` and the code.' },
    title: { ...text, description: 'The code in words.' },
    status: { type: 'integer', description: 'The HTTP status again.' },
    detail: { ...text, description: 'What is wrong, and where, for a person.' },
    code: {
      enum: Object.keys(ERROR_CODES),
      description: 'What is wrong, for a program. It does not change within v1.',
    },
    field: { ...text, description: 'The field of the body (RFC 6901 pointer), or the parameter, that is wrong.' },
    line: { type: 'integer', description: 'The line of the XML, or of the NDJSON body, from 1.' },
    item: { ...text, description: 'The value that is wrong: an SGTIN, an SSCC, an id.' },
    element: { ...text, description: 'The XML element that is wrong.' },
    instance: { ...text, description: 'Names a fault of the service; its log has the details under this name.' },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
};

/** What each refusal means, on every route, and what one looks like. */
const REFUSALS: Record<number, { means: string; example: { code: ErrorCode; detail: string } & ErrorPlace }> = {
  400: {
    means:
      'The request is wrong as it stands: a parameter, the JSON, or a field of the body, which `field` names. ' +
      'Nothing was done. Mend it first.',
    example: { code: 'invalid_parameter', detail: 'limit: must be a whole number from 1 to 1000', field: 'limit' },
  },
  401: {
    means: 'There is no API key, or one that is not valid: unknown, or revoked.',
    example: { code: 'unauthenticated', detail: 'an API key is needed: Authorization: Bearer <key>' },
  },
  403: {
    means:
      'The role of the key may not do this. Or no key was made yet, and the call does not come from a program of ' +
      'this machine.',
    example: { code: 'forbidden', detail: 'the role erp may not do this' },
  },
  404: {
    means: 'There is nothing under this id.',
    example: { code: 'not_found', detail: 'no command erp-1 was acknowledged', field: 'commandId', item: 'erp-1' },
  },
  408: {
    means: 'The body did not arrive in time. Send it again: a command id that was taken already is a no-op.',
    example: { code: 'request_timeout', detail: 'the body did not arrive in time' },
  },
  409: {
    means: 'It does not fit what is there already; `detail` says how that stands. Nothing was done.',
    example: {
      code: 'command_conflict',
      detail: 'command erp-1 was acknowledged before with other content; nothing was changed',
      field: '/command_id',
      item: 'erp-1',
    },
  },
  410: {
    means:
      'What comes after this place is kept no longer. Begin at the oldest: without `after`, or with `from: oldest`.',
    example: { code: 'outcomes_removed', detail: 'outcomes after this place are kept no longer' },
  },
  413: {
    means: 'The body is larger than this route takes.',
    example: { code: 'body_too_large', detail: 'the body is larger than this route takes' },
  },
  415: {
    means: 'The body is of a media type that this route does not take, or is packed (`Content-Encoding`).',
    example: { code: 'unsupported_media_type', detail: 'send application/json' },
  },
  422: {
    means:
      'The request is well formed, and what it names or holds is wrong: the document against its schema, an ' +
      'identifier, an account. `line`, `element` or `item` says where.',
    example: {
      code: 'invalid_identifier',
      detail: '0460 is no SGTIN (14 digits, then 13 letters or digits), no SSCC (18 digits) and no scan of one',
      field: 'sgtin',
      item: '0460',
    },
  },
  429: {
    means:
      'Too many wrong keys came from your network, or your key has opened evidence and begun exports more often in a ' +
      'minute than is recorded. A right key is always let in. Ask again after `Retry-After` seconds.',
    example: {
      code: 'too_many_wrong_keys',
      detail: 'too many calls with a wrong API key came from your network; the next answer is given after a pause',
      field: 'Authorization',
    },
  },
  503: {
    means:
      'Not now: the database or a part of the service is away, or as much waits as may wait. Nothing is known to ' +
      'have been done. Ask again after `Retry-After` seconds.',
    example: {
      code: 'unavailable',
      detail: 'the database is away; nothing is known to have been stored, so the same may be given again',
    },
  },
};

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds after which to ask again.', schema: { type: 'integer' } },
};
const WWW_AUTHENTICATE = {
  'WWW-Authenticate': { description: '`Bearer`: send the key as `Authorization: Bearer <key>`.', schema: text },
};
const HEADERS: Record<number, object> = { 401: WWW_AUTHENTICATE, 429: RETRY_AFTER, 503: RETRY_AFTER };

function refusal(status: number): object {
  const { means, example } = REFUSALS[status] as (typeof REFUSALS)[number];
  const codes = Object.entries(ERROR_CODES).flatMap(([code, one]) => (one === status ? [`\`${code}\``] : []));
  const { code, detail, ...place } = example;
  const headers = HEADERS[status];
  return {
    description: `${means} Codes: ${codes.join(', ')}.`,
    ...defined({ headers }),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        example: problemOf(new PedigreeError(code, detail, place)),
      },
    },
  };
}

/** Answers that are problem documents (RFC 9457), by status. */
export const problems = (...statuses: number[]) =>
  Object.fromEntries(statuses.map((status) => [status, refusal(status)]));

/**
 * The same where a key is asked for: it may be missing, be of the wrong role, or be one of too many wrong ones. And any
 * request may have a parameter that is none.
 */
export const errors = (...statuses: number[]) => problems(400, 401, 403, 429, ...statuses);

/** Query parameters as the check of the request has them. */
export function queryParameters(schema: z.ZodObject): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, one]) => {
    const { description, pattern, ...schema } = one as { description?: string; pattern?: string; type?: string };
    // A whole number comes as text and is described as what it is.
    const checked = pattern === undefined || schema.type === 'integer' ? schema : { ...schema, pattern };
    return { name, in: 'query', required: required.includes(name), description, schema: checked };
  });
}

export const inPath = (name: string, description: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: text,
});

export const location = (description: string) => ({ Location: { description, schema: text } });

/** The parts of the page, in its order. */
export const TAGS = {
  Commands: 'What the ERP asks for. A command that was acknowledged is never lost, and the same one again is a no-op.',
  Outcomes: 'What became of it, for an ERP without a bus: a feed to ask, and webhooks that are posted.',
  Documents: 'Documents of ours, from the command to the receipt, and what a person decides about one.',
  Groups: 'Documents that the registry processes in order, and what a person decides about a group.',
  Inbound: 'Documents that are not ours: told by other participants, or sent in our name past this system.',
  Packs: 'How packs stand now: lists, stock, the file of a series, and whether a scanned pack may be moved.',
  Evidence: 'The life of a pack, and the bytes that prove it.',
  Reports: 'What was due when; packs that rest, expire or wait; who overrode what; mock recalls.',
  Reconciliation: 'Comparisons of what we hold with what the registry shows.',
  Suspensions: 'Series that must not be sold or sent on, and what we knew of them at any moment.',
  Operations: 'How the machinery stands, and what a person must look at.',
  Accounts: 'The accounts at the registry: whether anything is sent through them, and why not.',
  Health: 'For whoever restarts programs and routes calls. Without a key.',
} as const;
