import {
  answer,
  answered,
  body,
  errors,
  FILES,
  inPath,
  orEpcis,
  orFile,
  queryParameters,
  text,
} from './openapi-parts.js';
import { evidenceParameters } from './access-parameters.js';
import { provable } from './openapi-proofs.js';
import { historyParameters, inboundListParameters, inboundRetries, inboundRetry } from './parameters.js';

const ofPack = inPath(
  'sgtin',
  'The SGTIN of the pack: its GTIN (14 digits) and its serial number (13 letters or digits). Or a scan of its code, ' +
    'percent-encoded.',
);
const ofContainer = inPath('sscc', 'The SSCC of the container, 18 digits. Or a scan of its code.');

const DOCUMENT_ID = inPath('documentId', "The registry's id of the document: the list names it.");

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
        ...errors(),
      },
    },
  },
  '/v1/inbound/{documentId}': {
    get: provable({
      operationId: 'showInbound',
      tags: ['Inbound'],
      summary: 'One document that is not ours, with its whole timeline and the document of ours that it belongs to',
      parameters: [DOCUMENT_ID],
      responses: {
        200: answered('InboundDocument', 'The document as it stands, with its timeline'),
        ...errors(404),
      },
    }),
  },
  '/v1/inbound/retries': {
    post: {
      operationId: 'retryAllInbound',
      tags: ['Inbound'],
      summary: 'Ask the registry again for all that was given up of the documents of one account',
      description:
        'Each as by the call for one document, at most `limit`, those first that were given up longest ago. ' +
        'Those that are asked for already are passed over.',
      requestBody: body('retryAllInbound', inboundRetries),
      responses: {
        202: answered('InboundAllRetried', 'Taken down, and asked for in a moment'),
        ...errors(422),
      },
    },
  },
  '/v1/inbound/{documentId}/retries': {
    post: {
      operationId: 'retryInbound',
      tags: ['Inbound'],
      summary: 'Ask the registry again for what it did not give: the bytes of a document, or its receipt',
      description:
        'Only of what was given up after the last try: 409 not_given_up says how it stands. It is tried as often as ' +
        'before, and the document concludes once more. Kept with the reason and who asked. The same call again, ' +
        'before that has begun, changes nothing.',
      parameters: [DOCUMENT_ID],
      requestBody: body('retryInbound', inboundRetry),
      responses: {
        202: answered('InboundRetried', 'Taken down, and asked for in a moment'),
        ...errors(404, 409, 422),
      },
    },
  },
  '/v1/packs/{sgtin}': {
    get: provable({
      operationId: 'showPack',
      tags: ['Evidence'],
      summary: 'The state of one pack, now or as of a moment, and for each fact who told us',
      description:
        'Worked out from the documents that we know: the registry is not asked. What no document tells is named in ' +
        '`unknown`, what is doubtful in `uncertain`, and contradictions between documents in `findings`.',
      parameters: [ofPack, ...queryParameters(historyParameters)],
      responses: {
        200: answered('PackState', 'What is known of the pack'),
        ...errors(404, 422, 503),
      },
    }),
  },
  '/v1/packs/{sgtin}/history': {
    get: provable({
      operationId: 'showPackHistory',
      tags: ['Evidence'],
      summary: "One pack's movements, its containers' while they held it included",
      description: FILES,
      parameters: [ofPack, ...queryParameters(historyParameters)],
      responses: {
        200: orEpcis(orFile('PackHistory', 'Where the pack is now, and its movements in their order')),
        ...errors(404, 422, 503),
      },
    }),
  },
  '/v1/containers/{sscc}/history': {
    get: {
      operationId: 'showContainerHistory',
      tags: ['Evidence'],
      summary: "One container's movements, those of the containers around it included",
      description: FILES,
      parameters: [ofContainer, ...queryParameters(historyParameters)],
      responses: {
        200: orEpcis(orFile('ContainerHistory', 'Where the container is now, and its movements in their order')),
        ...errors(404, 422, 503),
      },
    },
  },
  '/v1/containers/{sscc}/content': {
    get: {
      operationId: 'showContainerContent',
      tags: ['Evidence'],
      summary: 'What one container holds or held, as a tree, with the documents that packed it',
      description:
        'Each container comes before what it holds, and `level` says how deep it is. Above 50,000 items the answer ' +
        `is 422: ask for a container inside. ${FILES}`,
      parameters: [ofContainer, ...queryParameters(historyParameters)],
      responses: {
        200: orFile('ContainerContent', 'The content, as far as documents tell it'),
        ...errors(404, 422, 503),
      },
    },
  },
  '/v1/evidence/{sha256}': {
    get: {
      operationId: 'readEvidence',
      tags: ['Evidence'],
      summary: 'A piece of evidence, byte for byte',
      description:
        'Who opened it is recorded before its bytes go out, once a day and caller; while the log is away it is ' +
        'answered 503.',
      parameters: [
        inPath(
          'sha256',
          'The SHA-256 of the bytes, 64 lower-case hexadecimal digits: documents, receipts and timelines name it.',
        ),
        ...queryParameters(evidenceParameters),
      ],
      responses: {
        200: {
          description: 'The bytes, checked against their digest',
          content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
        },
        ...errors(404, 503),
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
        ...errors(),
      },
    },
  },
};
