import { z } from 'zod';
import { commandBody } from '../intake/command-body.js';
import { ERROR_CODES } from '#kernel';
import { documentListParameters, historyParameters } from './parameters.js';

const text = { type: 'string' };
const json = (schema: object) => ({ 'application/json': { schema } });
const problem = { description: 'What is wrong and where (RFC 9457)', content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
const errors = (...statuses: number[]) => Object.fromEntries(statuses.map((status) => [status, problem]));

const acknowledgement = {
  type: 'object',
  properties: { command_id: text, request_id: { type: 'string', format: 'uuid' }, repeated: { type: 'boolean' }, document: { type: 'string', format: 'uri-reference' } },
  required: ['command_id', 'request_id', 'repeated', 'document'],
};

function queryParameters(schema: z.ZodObject): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, one]) => ({ name, in: 'query', required: required.includes(name), schema: one }));
}

const inPath = (name: string, description: string) => ({ name, in: 'path', required: true, description, schema: text });

const paths = {
  '/v1/commands': {
    post: {
      summary: 'Give one command (JSON) or many (NDJSON)',
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Command' } },
          'application/x-ndjson': { schema: { type: 'string', description: 'One command a line; the answer has one line of result for each, in their order.' } },
        },
      },
      responses: {
        202: { description: 'Acknowledged: stored durably, and never lost from here on', headers: { Location: { schema: text } }, content: json(acknowledgement) },
        200: { description: 'The same command again (JSON), or the results line by line (NDJSON)', content: { ...json(acknowledgement), 'application/x-ndjson': { schema: text } } },
        ...errors(400, 401, 403, 409, 413, 415, 422, 503),
      },
    },
  },
  '/v1/commands/{commandId}': {
    get: {
      summary: 'What became of a command',
      parameters: [inPath('commandId', "The ERP's id")],
      responses: { 200: { description: 'Its document as it stands', content: json({ type: 'object' }) }, ...errors(401, 403, 404) },
    },
  },
  '/v1/documents': {
    get: {
      summary: 'List documents, newest first; NDJSON streams the whole list',
      parameters: queryParameters(documentListParameters),
      responses: { 200: { description: 'A page, or all as NDJSON', content: { ...json({ type: 'object' }), 'application/x-ndjson': { schema: text } } }, ...errors(400, 401, 403) },
    },
  },
  '/v1/documents/{requestId}': {
    get: {
      summary: 'One document with its whole timeline',
      parameters: [inPath('requestId', 'UUID')],
      responses: { 200: { description: 'The document', content: json({ type: 'object' }) }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/packs/{sgtin}/history': {
    get: {
      summary: "One pack's movements, its containers' while they held it included",
      parameters: [inPath('sgtin', '14 digits and 13 letters or digits'), ...queryParameters(historyParameters)],
      responses: { 200: { description: 'The history', content: json({ type: 'object' }) }, ...errors(400, 401, 403, 404, 422) },
    },
  },
  '/v1/evidence/{sha256}': {
    get: {
      summary: 'A piece of evidence, byte for byte',
      parameters: [inPath('sha256', '64 lower-case hexadecimal digits')],
      responses: { 200: { description: 'The bytes, checked against their digest', content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/summary': { get: { summary: 'Documents by outcome', responses: { 200: { description: 'Counts', content: json({ type: 'object' }) }, ...errors(401, 403) } } },
  '/health/live': { get: { summary: 'The process is alive', security: [], responses: { 200: { description: 'live' } } } },
  '/health/ready': { get: { summary: 'Commands can be taken', security: [], responses: { 200: { description: 'ready' }, ...errors(503) } } },
};

/** The API as OpenAPI 3.1. Request shapes come from the very schemas that check the requests. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Pedigree', version: '1', description: 'Commands to, and answers about, the registry of marked medicines.', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key. On loopback none is needed while no key exists.' } },
      schemas: {
        Command: z.toJSONSchema(commandBody, { io: 'input' }),
        Problem: {
          type: 'object',
          properties: {
            type: text,
            title: text,
            status: { type: 'integer' },
            detail: text,
            code: { enum: Object.keys(ERROR_CODES) },
            field: text,
            line: { type: 'integer' },
            item: text,
            element: text,
          },
          required: ['type', 'title', 'status', 'detail', 'code'],
        },
      },
    },
  };
}
