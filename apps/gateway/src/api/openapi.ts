import { z } from 'zod';
import { commandBody } from '../intake/command-body.js';
import { MAX_NAMES, MAX_PARTS } from '../intake/strict-json.js';
import { resendBody } from '../resends/resend-body.js';
import { DEFAULT_BODY_LIMITS, MAX_COMMAND_BYTES, MAX_LARGE_COMMAND_BYTES } from './body-limits.js';
import { BODIES, pathExamples } from './openapi-examples.js';
import {
  answer,
  answerSchemas,
  body,
  errors,
  inPath,
  location,
  problemSchema,
  queryParameters,
  TAGS,
  text,
} from './openapi-parts.js';
import {
  accountResumption,
  commandParameters,
  configurationParameters,
  deadLetterListParameters,
  documentListParameters,
  documentItemsParameters,
  groupListParameters,
  historyParameters,
  holdBody,
  inboundListParameters,
  letterDecision,
  outcomeFeedParameters,
  reconciliationBody,
  reconciliationFindingParameters,
  reconciliationListParameters,
  resumptionBody,
  replanBody,
  retryBody,
  webhookBody,
  webhookRemoval,
  webhookResumption,
} from './parameters.js';

const { idleMs, maxUnreadResults, readPatienceMs, jsonBodyMs, mostHeldBytes } = DEFAULT_BODY_LIMITS;
const ABOUT = `Commands to, and answers about, the registry of marked medicines. The key is asked before a body is \
read. The bodies of all requests together hold at most ${mostHeldBytes} bytes in memory: one that does not fit in is \
answered 503 \`backlog_full\` with Retry-After, on any route that takes a body; 413, 415 and 408 are said for bodies \
that are too large, of another type, or too slow.

The examples are of the sandbox and its sample world: with \`npm start\` they work as they stand, those of \`POST \
/v1/commands\` first, and the ids in the other routes are those of their documents. A registry of the state gets what \
you send here, so do not try them there.`;
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

const paths = {
  '/v1/commands': {
    post: {
      operationId: 'giveCommand',
      tags: ['Commands'],
      summary: 'Give one command (JSON) or many (NDJSON)',
      description:
        `A JSON body has at most ${MAX_LARGE_COMMAND_BYTES} bytes (above ${MAX_COMMAND_BYTES} it must tell its ` +
        `Content-Length, and only a few are taken at a time) and ${jsonBodyMs / 1_000} s to arrive. Names must not ` +
        `stand twice in one object, an object has at most ${MAX_NAMES} of them and a body at most ${MAX_PARTS} ` +
        'objects, lists and names; no text holds a NUL, and ids must not begin or end with blanks: nothing is ' +
        'corrected in silence.',
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
        ...errors(400, 401, 403, 408, 409, 413, 415, 422, 503),
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
        200: { description: 'Its document as it stands', content: answer('CommandAnswer') },
        ...errors(400, 401, 403, 404),
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
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/documents/{requestId}': {
    get: {
      operationId: 'showDocument',
      tags: ['Documents'],
      summary: 'One document with its whole timeline',
      parameters: [REQUEST_ID],
      responses: {
        200: {
          description: 'The document; known from the moment at which its command was acknowledged',
          content: answer('Document'),
        },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/documents/{requestId}/items': {
    get: {
      operationId: 'listDocumentItems',
      tags: ['Documents'],
      summary: 'What became of each item of a concluded document',
      parameters: [REQUEST_ID, ...queryParameters(documentItemsParameters)],
      responses: {
        200: {
          description: 'A page in document order; all pages are of one conclusion',
          content: answer('DocumentItems'),
        },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/documents/{requestId}/resends': {
    post: {
      operationId: 'resendDocument',
      tags: ['Documents'],
      summary: 'Send a rejected or failed document again, as another one, for a reason that is kept',
      description:
        'The same bytes, or corrected ones, under a request_id of their own; both documents name each other. Its ' +
        'outcome comes under the command_id of the ERP and its reference, with resend_of. Once for each ' +
        'document; the same call again changes nothing. 409 not_resendable says why a document is not sent again.',
      parameters: [REQUEST_ID],
      requestBody: body('resendDocument', resendBody),
      responses: {
        202: {
          description: 'Acknowledged, as a command is; the answer names the new document',
          headers: location('Where to look at the new document.'),
          content: answer('Resent'),
        },
        200: { description: 'The same call again: nothing more is sent', content: answer('Resent') },
        ...errors(400, 401, 403, 404, 409, 413, 422, 503),
      },
    },
  },
  '/v1/documents/{requestId}/release': {
    post: {
      operationId: 'releaseDocument',
      tags: ['Documents'],
      summary: 'Send it all the same, though something that it comes after ended badly',
      description:
        'The hold is waived, for a reason that is kept. Only of a document that is held: 409 not_held says how ' +
        'it stands. The same call again changes nothing.',
      parameters: [REQUEST_ID],
      requestBody: body('releaseDocument', holdBody),
      responses: {
        202: {
          description: 'The decision is taken down, and carried out in a moment',
          content: answer('HoldDecision'),
        },
        ...errors(400, 401, 403, 404, 409, 422),
      },
    },
  },
  '/v1/documents/{requestId}/end': {
    post: {
      operationId: 'endDocument',
      tags: ['Documents'],
      summary: 'End it as failed, because something that it comes after ended badly',
      description:
        'It concludes as failed with the cause predecessor_failed; nothing was sent. Only of a document that is ' +
        'held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [REQUEST_ID],
      requestBody: body('endDocument', holdBody),
      responses: {
        202: {
          description: 'The decision is taken down, and carried out in a moment',
          content: answer('HoldDecision'),
        },
        ...errors(400, 401, 403, 404, 409, 422),
      },
    },
  },
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
        200: { description: 'A page of groups, the newest first', content: answer('GroupPage') },
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/groups/{groupId}': {
    get: {
      operationId: 'showGroup',
      tags: ['Groups'],
      summary: 'One group with its members and its timeline',
      parameters: [GROUP_ID],
      responses: {
        200: {
          description: 'The group; known from the moment at which its command was acknowledged',
          content: answer('Group'),
        },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/groups/{groupId}/release': {
    post: {
      operationId: 'releaseGroup',
      tags: ['Groups'],
      summary: 'Send it all the same, though something that it comes after ended badly',
      description:
        'The hold is waived, for a reason that is kept. Only of a group that is held: 409 not_held says how it ' +
        'stands. The same call again changes nothing.',
      parameters: [GROUP_ID],
      requestBody: body('releaseGroup', holdBody),
      responses: {
        202: {
          description: 'The decision is taken down, and carried out in a moment',
          content: answer('HoldDecision'),
        },
        ...errors(400, 401, 403, 404, 409, 422),
      },
    },
  },
  '/v1/groups/{groupId}/end': {
    post: {
      operationId: 'endGroup',
      tags: ['Groups'],
      summary: 'End it as failed, because something that it comes after ended badly',
      description:
        'It concludes as failed with the cause predecessor_failed; nothing was sent. Only of a group that is ' +
        'held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [GROUP_ID],
      requestBody: body('endGroup', holdBody),
      responses: {
        202: {
          description: 'The decision is taken down, and carried out in a moment',
          content: answer('HoldDecision'),
        },
        ...errors(400, 401, 403, 404, 409, 422),
      },
    },
  },
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
        200: { description: 'The same resumption again', content: answer('Acknowledgement') },
        ...errors(400, 401, 403, 404, 409, 413, 415, 422, 503),
      },
    },
  },
  '/v1/outcomes': {
    get: {
      operationId: 'listOutcomes',
      tags: ['Outcomes'],
      summary: 'What the ERP is told, in order: the feed for those without a bus',
      description:
        'CloudEvents 1.0, the same bytes as on the bus. Take them, keep next_after, and ask again; with `wait` ' +
        'the answer comes as soon as there is one. 410 when outcomes after that place are kept no longer.',
      parameters: queryParameters(outcomeFeedParameters),
      responses: {
        200: {
          description: 'A page of outcomes in their order; empty when there is none after that place',
          content: answer('OutcomePage'),
        },
        ...errors(400, 401, 403, 410, 503),
      },
    },
  },
  '/v1/webhooks': {
    get: {
      operationId: 'listWebhooks',
      tags: ['Outcomes'],
      summary: 'Webhooks, with how far each has come',
      responses: {
        200: { description: 'All webhooks; none of them with its secret', content: answer('WebhookList') },
        ...errors(401, 403),
      },
    },
    post: {
      operationId: 'addWebhook',
      tags: ['Outcomes'],
      summary: 'Have outcomes posted to an address, signed by Standard Webhooks',
      requestBody: body('addWebhook', webhookBody),
      responses: {
        201: { description: 'Made; the secret is shown this once', content: answer('NewWebhook') },
        ...errors(400, 401, 403, 503),
      },
    },
  },
  '/v1/webhooks/{id}': {
    delete: {
      operationId: 'removeWebhook',
      tags: ['Outcomes'],
      summary: 'Remove a webhook',
      parameters: [
        inPath('id', 'The id of the webhook, a UUID: the list names it.'),
        ...queryParameters(webhookRemoval),
      ],
      responses: {
        204: { description: 'It is removed: nothing more is posted, and what it lacked is not kept for it' },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/webhooks/{id}/resume': {
    post: {
      operationId: 'resumeWebhook',
      tags: ['Outcomes'],
      summary: 'Have a halted webhook go on',
      parameters: [inPath('id', 'The id of the webhook, a UUID: the list names it.')],
      requestBody: body('resumeWebhook', webhookResumption, { required: false }),
      responses: {
        200: { description: 'It goes on; the webhook as it stands now', content: answer('Webhook') },
        ...errors(400, 401, 403, 404, 410),
      },
    },
  },
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
        200: { description: 'The document as it stands, with its timeline', content: answer('InboundDocument') },
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
        200: { description: 'Where the pack is now, and its movements in their order', content: answer('PackHistory') },
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
        200: {
          description: 'How many documents there are, by outcome, and how many have none yet',
          content: answer('OutcomeCounts'),
        },
        ...errors(401, 403),
      },
    },
  },
  '/v1/operations': {
    get: {
      operationId: 'showOperations',
      tags: ['Operations'],
      summary: 'What waits, what was given up, how far the read models are behind',
      responses: {
        200: { description: 'How the machinery stands', content: answer('OperationsStatus') },
        ...errors(401, 403),
      },
    },
  },
  '/v1/accounts': {
    get: {
      operationId: 'listAccounts',
      tags: ['Accounts'],
      summary:
        'Accounts at the registry: whether anything is sent through them, why not, and with which certificate ' +
        'they sign',
      responses: {
        200: { description: 'All that are configured', content: answer('AccountList') },
        ...errors(401, 403),
      },
    },
  },
  '/v1/accounts/{name}/resumptions': {
    post: {
      operationId: 'resumeAccount',
      tags: ['Accounts'],
      summary: 'Have a paused account go on, for a reason that is kept',
      description:
        'All its documents go then, each once. The same call again changes nothing. It is paused again when the ' +
        'registry refuses it again.',
      parameters: [inPath('name', 'The name of the account in the accounts file.')],
      requestBody: body('resumeAccount', accountResumption),
      responses: {
        200: { description: 'How it stands now', content: answer('Account') },
        ...errors(400, 401, 403, 404, 503),
      },
    },
  },
  '/v1/operations/failed-tasks': {
    get: {
      operationId: 'listFailedTasks',
      tags: ['Operations'],
      summary: 'Tasks that were given up, with their errors',
      responses: {
        200: { description: 'The tasks that were given up; at most 1,000', content: answer('FailedTasks') },
        ...errors(401, 403),
      },
    },
  },
  '/v1/operations/parked': {
    get: {
      operationId: 'listParked',
      tags: ['Operations'],
      summary:
        'Documents and groups that do not go on, because one of their events could not be worked on; the longest first',
      responses: {
        200: { description: 'What is parked, with why; at most 1,000', content: answer('ParkedInstances') },
        ...errors(401, 403),
      },
    },
  },
  '/v1/operations/orphans': {
    get: {
      operationId: 'listOrphans',
      tags: ['Operations'],
      summary:
        'Documents and groups that are not concluded and that nothing carries on: there should be none; the ' +
        'oldest first',
      responses: {
        200: { description: 'The orphans, the oldest first; at most 1,000', content: answer('OrphanList') },
        ...errors(401, 403),
      },
    },
  },
  '/v1/operations/replans': {
    post: {
      operationId: 'replanOrphans',
      tags: ['Operations'],
      summary: 'Have every orphan carried on from where it stands, for a reason that is kept',
      requestBody: body('replanOrphans', replanBody),
      responses: {
        200: { description: 'The orphans, each of which has a task now', content: answer('OrphanList') },
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/operations/retries': {
    post: {
      operationId: 'retryTask',
      tags: ['Operations'],
      summary: 'Have a failed task, or what is parked, tried again, for a reason that is kept',
      description: 'By the key in one of the two lists; `parked:<saga>` means everything of that saga.',
      requestBody: body('retryTask', retryBody),
      responses: {
        204: { description: 'It is due now; the lists show whether it succeeds' },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/v1/operations/configuration': {
    get: {
      operationId: 'listConfigurationChanges',
      tags: ['Operations'],
      summary: 'What programs were set to, who changed it and why, newest first',
      parameters: queryParameters(configurationParameters),
      responses: {
        200: { description: 'A page of changes, the newest first', content: answer('ConfigurationChanges') },
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/operations/dead-letters': {
    get: {
      operationId: 'listDeadLetters',
      tags: ['Operations'],
      summary: 'Messages of the bus that could not be handled, with why; oldest first',
      parameters: queryParameters(deadLetterListParameters),
      responses: {
        200: { description: 'The letters, the oldest first, without their bodies', content: answer('DeadLetterList') },
        ...errors(400, 401, 403, 503),
      },
    },
  },
  '/v1/operations/dead-letters/{id}': {
    get: {
      operationId: 'showDeadLetter',
      tags: ['Operations'],
      summary: 'One of them with its body',
      parameters: [inPath('id', 'The id of the letter: the list names it, while the letter lies there.')],
      responses: {
        200: { description: 'The message as it came', content: answer('DeadLetter') },
        ...errors(400, 401, 403, 404, 503),
      },
    },
  },
  '/v1/operations/dead-letters/{id}/replays': {
    post: {
      operationId: 'replayDeadLetter',
      tags: ['Operations'],
      summary: 'Put it back into the queue, for a reason that is kept',
      parameters: [inPath('id', 'The id of the letter: the list names it, while the letter lies there.')],
      requestBody: body('replayDeadLetter', letterDecision),
      responses: { 204: { description: 'It stands at the end of the queue' }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/operations/dead-letters/{id}/discards': {
    post: {
      operationId: 'discardDeadLetter',
      tags: ['Operations'],
      summary: 'Discard it, for a reason that is kept: it counts no more, and is listed on request',
      parameters: [inPath('id', 'The id of the letter: the list names it, while the letter lies there.')],
      requestBody: body('discardDeadLetter', letterDecision),
      responses: { 204: { description: 'It is out of the queue of dead letters' }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/reconciliations': {
    get: {
      operationId: 'listReconciliations',
      tags: ['Reconciliation'],
      summary: 'Comparisons of what we hold with what the lists of the registry show, newest first',
      parameters: queryParameters(reconciliationListParameters),
      responses: {
        200: { description: 'A page of comparisons, the newest first', content: answer('ReconciliationPage') },
        ...errors(400, 401, 403),
      },
    },
    post: {
      operationId: 'requestReconciliation',
      tags: ['Reconciliation'],
      summary: 'Ask for a comparison now, for a reason that is kept; the reconciler makes it',
      requestBody: body('requestReconciliation', reconciliationBody),
      responses: {
        202: {
          description: 'Asked for, durably',
          headers: location('Where to look at the comparison.'),
          content: answer('Reconciliation'),
        },
        ...errors(400, 401, 403),
      },
    },
  },
  '/v1/reconciliations/{runId}': {
    get: {
      operationId: 'showReconciliation',
      tags: ['Reconciliation'],
      summary: 'One comparison with its findings',
      parameters: [
        inPath('runId', 'The id of the comparison: the list names it, and the answer to the request for one.'),
        ...queryParameters(reconciliationFindingParameters),
      ],
      responses: {
        200: {
          description: 'As it stands; with a page of its findings once it was made',
          content: answer('ReconciliationDetail'),
        },
        ...errors(400, 401, 403, 404),
      },
    },
  },
  '/health/live': {
    get: {
      operationId: 'isLive',
      tags: ['Health'],
      summary: 'The process is alive',
      security: [],
      responses: { 200: { description: 'The process lives' } },
    },
  },
  '/health/ready': {
    get: {
      operationId: 'isReady',
      tags: ['Health'],
      summary: 'Commands can be taken',
      security: [],
      responses: {
        200: {
          description:
            'ready, or degraded: commands are taken, and somebody must look at what is named, a paused account, ' +
            'a certificate that ends, a program that does not run, a subscription that is halted or does not ' +
            'move, dead letters, documents that nothing carries on, or API keys of which none is valid or some ' +
            'are suspended',
        },
        ...errors(503),
      },
    },
  },
};

/** The paths, each parameter in them with the id that the examples have made in this installation. */
function pathsWithExamples(installationId: string): object {
  const examples = pathExamples(installationId);
  const filled = (operation: Operation): Operation => {
    const parameters = operation.parameters?.map((one) => {
      const example = one.in === 'path' ? examples[operation.operationId]?.[one.name] : undefined;
      return example === undefined ? one : { ...one, example };
    });
    return { ...operation, ...(parameters === undefined ? {} : { parameters }) };
  };
  const entries = Object.entries(paths as unknown as Record<string, Record<string, Operation>>);
  return Object.fromEntries(
    entries.map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, filled(one)])),
    ]),
  );
}

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
}

/**
 * The API as OpenAPI 3.1. Request shapes come from the very schemas that check the requests; examples name what they
 * make in this installation.
 */
export function openApiDocument(installationId: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pedigree',
      version: '1',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This gateway' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: pathsWithExamples(installationId),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key. Until the first one is made none is needed on loopback, by calls that this machine ' +
            'makes: a Host or Origin of another name, and what a proxy passes on, is answered 403.',
        },
      },
      schemas: { Command: z.toJSONSchema(commandBody, { io: 'input' }), ...answerSchemas, Problem: problemSchema },
    },
  };
}
