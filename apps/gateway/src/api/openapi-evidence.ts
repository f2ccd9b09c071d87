import { answer, answered, errors, inPath, queryParameters, text } from './openapi-parts.js';
import { historyParameters, inboundListParameters } from './parameters.js';

/** What others sent, and what proves the life of a pack. */
export const evidencePaths = {
  '/v1/inbound': {
    get: {
      operationId: 'listInbound',
      tags: ['Inbound'],
      summary:
        'List documents that are not ours, newest first: told by other participants, or sent in our name past ' +
        'this system; NDJSON streams the whole list',
      description:
        'As NDJSON (Accept: application/x-ndjson) every line is an InboundSummary, and all pages come in one ' +
        'answer; when it cannot be completed the connection breaks off.',
      parameters: queryParameters(inboundListParameters),
      responses: {
        200: {
          description: 'A page, the newest first; with Accept: application/x-ndjson all of them, one a line',
          content: { ...answer('InboundPage'), 'application/x-ndjson': { schema: text } },
        },
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/inbound/{documentId}': {
    get: {
      operationId: 'showInbound',
      tags: ['Inbound'],
      summary: 'One document that is not ours, with its whole timeline and the document of ours that it belongs to',
      parameters: [inPath('documentId', "The registry's id of the document: the list names it.")],
      responses: {
        200: answered('InboundDocument', 'The document as it stands, with its timeline'),
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/packs/{sgtin}/history': {
    get: {
      operationId: 'showPackHistory',
      tags: ['Evidence'],
      summary: "One pack's movements, its containers' while they held it included",
      parameters: [
        inPath(
          'sgtin',
          'The SGTIN of the pack: its GTIN (14 digits) and its serial number (13 letters or digits), without ' +
            'blanks or brackets.',
        ),
        ...queryParameters(historyParameters),
      ],
      responses: {
        200: answered('PackHistory', 'Where the pack is now, and its movements in their order'),
        ...errors(400, 401, 403, 404, 422),
      },
    },
  },
  '/v1/evidence/{sha256}': {
    get: {
      operationId: 'readEvidence',
      tags: ['Evidence'],
      summary: 'A piece of evidence, byte for byte',
      parameters: [
        inPath(
          'sha256',
          'The SHA-256 of the bytes, 64 lower-case hexadecimal digits: documents, receipts and timelines name it.',
        ),
      ],
      responses: {
        200: {
          description: 'The bytes, checked against their digest',
          content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
        },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/summary': {
    get: {
      operationId: 'countDocuments',
      tags: ['Documents'],
      summary: 'Documents by outcome',
      responses: {
        200: answered('OutcomeCounts', 'How many documents there are, by outcome, and how many have none yet'),
        ...errors(401, 403),
      },
    },
  },
};
