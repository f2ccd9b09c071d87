import { MAX_JSON_NAMES, MAX_JSON_PARTS } from '#kernel';
import { resendBody } from '../resends/resend-body.js';
import { DEFAULT_BODY_LIMITS, MAX_COMMAND_BYTES, MAX_LARGE_COMMAND_BYTES } from './body-limits.js';
import { BODIES, XML_BODIES } from './openapi-examples.js';
import { answer, answered, body, errors, inPath, location, orEpcis, queryParameters, text } from './openapi-parts.js';
import { provable } from './openapi-proofs.js';
import { groupEndBody } from './group-end-body.js';
import {
  commandParameters,
  documentItemsParameters,
  documentListParameters,
  groupListParameters,
  holdBody,
  resumptionBody,
} from './parameters.js';
import { validateBody } from './validation.js';

const { idleMs, maxUnreadResults, readPatienceMs, jsonBodyMs } = DEFAULT_BODY_LIMITS;
const LINES = `One command a line, each of at most ${MAX_COMMAND_BYTES} bytes; the answer has one line of result for \
each, in their order: an Acknowledgement with \`line\`, or \`line\` and \`error\` (a Problem).
The results come while the commands are still being sent, and a client should read them as they come. One that writes \
everything before it reads may send at most ${maxUnreadResults} lines in one request: when so many results wait and \
none is read for ${readPatienceMs / 1_000} s, the rest of the lines is refused with a last line \`{"error": {"code": \
"results_unread", "line": …}}\` that names the first line that was not taken.
A body may take as long as it likes while it keeps coming; after ${idleMs / 1_000} s without a byte the answer ends \
with a last line \`{"error": {"code": "request_timeout"}}\`.`;

/** Sent after the examples one by one, each line is answered as a repeat. */
const NDJSON = {
  lines: {
    summary: 'Two commands',
    value: [BODIES.giveCommand.xml, BODIES.giveCommand.json].map(({ value }) => JSON.stringify(value)).join('\n'),
  },
};

const REQUEST_ID = inPath(
  'requestId',
  'The request_id of the document, a UUID: the acknowledgement of its command names it.',
);
const GROUP_ID = inPath(
  'groupId',
  'The id of the group, a UUID: the acknowledgement of its command names it as request_id.',
);

/** A person holds a document that was not sent. */
const holdDocument: object = {
  '/v1/documents/{requestId}/hold': {
    post: {
      operationId: 'holdDocument',
      tags: ['Documents'],
      summary: 'Keep it from being sent, until a person releases it',
      description:
        'Only of a document that was not sent and is no member of a group: 409 not_holdable says how it stands. ' +
        'Where its send begins at this moment, it is sent: `holds` of the document tells.',
      parameters: [REQUEST_ID],
      requestBody: body('holdDocument', holdBody),
      responses: {
        202: answered('HoldDecision', 'The decision is taken down, and carried out in a moment'),
        ...errors(404, 409, 422),
      },
    },
  },
};

/** What a person may decide about a document, or a group, that is held. */
function holdDecisions(noun: 'Document' | 'Group', path: string, id: object): object {
  const tags = [`${noun}s`];
  const isGroup = noun === 'Group';
  const onlyHeld =
    `Only of a ${noun.toLowerCase()} that is held: 409 not_held says how it stands. ` +
    (isGroup ? '' : 'A member of a group that is held is decided about with its group. ') +
    'The same call again changes nothing.';
  const alsoDoubted =
    ' Also a group of which nobody knows whether the registry has begun is ended so: its documents end as not ' +
    'processed once the registry shows that it has not. With in_work also what the registry shows as in work ends; ' +
    'it is looked at on, and revised if it was processed after all.';
  const decision = (kind: 'release' | 'end', summary: string, description: string) => ({
    post: {
      operationId: `${kind}${noun}`,
      tags,
      summary,
      description: `${description} ${onlyHeld}${isGroup && kind === 'end' ? alsoDoubted : ''}`,
      parameters: [id],
      requestBody: body(`${kind}${noun}` as const, isGroup && kind === 'end' ? groupEndBody : holdBody),
      responses: {
        202: answered('HoldDecision', 'The decision is taken down, and carried out in a moment'),
        ...errors(404, 409, 422),
      },
    },
  });
  return {
    [`${path}/release`]: decision(
      'release',
      'Send it all the same, though it is held',
      'The hold is waived, for a reason that is kept.',
    ),
    [`${path}/end`]: decision(
      'end',
      'End it as failed, because of what it is held for',
      'It concludes as failed; nothing was sent.',
    ),
  };
}

/** Commands, documents of ours, and groups. */
export const documentPaths = {
  '/v1/commands': {
    post: {
      operationId: 'giveCommand',
      tags: ['Commands'],
      summary: 'Give one command (JSON) or many (NDJSON)',
      description:
        `A JSON body has at most ${MAX_LARGE_COMMAND_BYTES} bytes (above ${MAX_COMMAND_BYTES} it must tell its ` +
        `Content-Length, and only a few are taken at a time) and ${jsonBodyMs / 1_000} s to arrive. Names must not ` +
        `stand twice in one object, an object has at most ${MAX_JSON_NAMES} of them and a body at most ` +
        `${MAX_JSON_PARTS} objects, lists and names; no text holds a NUL, and ids must not begin or end with blanks: ` +
        'nothing is corrected in silence.',
      parameters: queryParameters(commandParameters),
      requestBody: body(
        'giveCommand',
        { $ref: '#/components/schemas/Command' },
        { more: { 'application/x-ndjson': { schema: { type: 'string', description: LINES }, examples: NDJSON } } },
      ),
      responses: {
        202: {
          description: 'Acknowledged: stored durably, and never lost from here on',
          headers: location('Where to ask what became of the command.'),
          content: answer('Acknowledgement'),
        },
        200: {
          description: 'The same command again (JSON), or the results line by line (NDJSON)',
          content: { ...answer('Acknowledgement'), 'application/x-ndjson': { schema: text } },
        },
        ...errors(408, 409, 413, 415, 422, 503),
      },
    },
  },
  '/v1/validate': {
    post: {
      operationId: 'validateDocument',
      tags: ['Documents'],
      summary: 'All that is wrong with a document, without sending it',
      description:
        'Each problem has a plain sentence and its place: line and path of the XML, or the pointer of the JSON. The ' +
        'document is checked by the schema set of its version. Nothing is kept. The limits of bodies are those of ' +
        'commands.',
      requestBody: body('validateDocument', validateBody, {
        more: { 'application/xml': { schema: { type: 'string' }, examples: XML_BODIES } },
      }),
      responses: {
        200: answered('Validation', 'The verdict, good or bad'),
        ...errors(408, 413, 415, 503),
      },
    },
  },
  '/v1/commands/{commandId}': {
    get: {
      operationId: 'showCommand',
      tags: ['Commands'],
      summary: 'What became of a command',
      parameters: [
        inPath(
          'commandId',
          "The ERP's own id of the command, percent-encoded where it holds other characters than letters, digits " +
            'and hyphens.',
        ),
      ],
      responses: {
        200: answered('CommandAnswer', 'Its document as it stands'),
        ...errors(404),
      },
    },
  },
  '/v1/documents': {
    get: {
      operationId: 'listDocuments',
      tags: ['Documents'],
      summary: 'List documents, newest first; NDJSON streams the whole list',
      description:
        'As NDJSON (Accept: application/x-ndjson) every line is a DocumentSummary, and all pages come in one ' +
        'answer; when it cannot be completed the connection breaks off.',
      parameters: queryParameters(documentListParameters),
      responses: {
        200: {
          description: 'A page, the newest first; with Accept: application/x-ndjson all of them, one a line',
          content: { ...answer('DocumentPage'), 'application/x-ndjson': { schema: text } },
        },
        ...errors(),
      },
    },
  },
  '/v1/documents/{requestId}': {
    get: provable({
      operationId: 'showDocument',
      tags: ['Documents'],
      summary: 'One document with its whole timeline',
      parameters: [REQUEST_ID],
      responses: {
        200: orEpcis(answered('Document', 'The document; known from the moment at which its command was acknowledged')),
        ...errors(404),
      },
    }),
  },
  '/v1/documents/{requestId}/items': {
    get: {
      operationId: 'listDocumentItems',
      tags: ['Documents'],
      summary: 'What became of each item of a concluded document',
      parameters: [REQUEST_ID, ...queryParameters(documentItemsParameters)],
      responses: {
        200: answered('DocumentItems', 'A page in document order; all pages are of one conclusion'),
        ...errors(404),
      },
    },
  },
  '/v1/documents/{requestId}/resends': {
    post: {
      operationId: 'resendDocument',
      tags: ['Documents'],
      summary: 'Send a rejected or failed document again, as another one, for a reason that is kept',
      description:
        'As it was but for a new session_ui (the registry refuses content that it had before), or corrected, under ' +
        'a request_id of its own; both documents name each other. Its outcome comes under the command_id of the ERP ' +
        'and its reference, with resend_of. Once for each document; the same call again changes nothing. 409 ' +
        'not_resendable says why a document is not sent again.',
      parameters: [REQUEST_ID],
      requestBody: body('resendDocument', resendBody),
      responses: {
        202: {
          description: 'Acknowledged, as a command is; the answer names the new document',
          headers: location('Where to look at the new document.'),
          content: answer('Resent'),
        },
        200: answered('Resent', 'The same call again: nothing more is sent'),
        ...errors(404, 409, 413, 422, 503),
      },
    },
  },
  ...holdDecisions('Document', '/v1/documents/{requestId}', REQUEST_ID),
  ...holdDocument,
  '/v1/groups': {
    get: {
      operationId: 'listGroups',
      tags: ['Groups'],
      summary: 'List groups, newest first',
      description:
        'Documents that the registry processes in order (bulk processing), and large documents that were split ' +
        'into parts.',
      parameters: queryParameters(groupListParameters),
      responses: {
        200: answered('GroupPage', 'A page of groups, the newest first'),
        ...errors(),
      },
    },
  },
  '/v1/groups/{groupId}': {
    get: provable({
      operationId: 'showGroup',
      tags: ['Groups'],
      summary: 'One group with its members and its timeline',
      parameters: [GROUP_ID],
      responses: {
        200: answered('Group', 'The group; known from the moment at which its command was acknowledged'),
        ...errors(404),
      },
    }),
  },
  ...holdDecisions('Group', '/v1/groups/{groupId}', GROUP_ID),
  '/v1/groups/{groupId}/resumptions': {
    post: {
      operationId: 'resumeGroup',
      tags: ['Groups'],
      summary: 'Resume a group that halted: the corrected member, and what was not processed, in order',
      parameters: [GROUP_ID],
      requestBody: body('resumeGroup', resumptionBody),
      responses: {
        202: {
          description: 'Acknowledged; the answer names the new group',
          headers: location('Where to look at the new group.'),
          content: answer('Acknowledgement'),
        },
        200: answered('Acknowledgement', 'The same resumption again'),
        ...errors(404, 409, 413, 415, 422, 503),
      },
    },
  },
};
