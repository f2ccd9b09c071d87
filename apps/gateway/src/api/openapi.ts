import { z } from 'zod';
import { ERROR_CODES } from '#kernel';
import { commandBody } from '../intake/command-body.js';
import { MAX_NAMES, MAX_PARTS } from '../intake/strict-json.js';
import { resendBody } from '../resends/resend-body.js';
import { ANSWERS } from './answers.js';
import { DEFAULT_BODY_LIMITS, MAX_COMMAND_BYTES, MAX_LARGE_COMMAND_BYTES } from './body-limits.js';
import { accountResumption, commandParameters, configurationParameters, deadLetterListParameters, documentListParameters, documentItemsParameters, groupListParameters, historyParameters, holdBody, inboundListParameters, outcomeFeedParameters, reconciliationBody, reconciliationFindingParameters, reconciliationListParameters, letterDecision, resumptionBody, replanBody, retryBody, webhookBody, webhookRemoval, webhookResumption } from './parameters.js';

const text = { type: 'string' };
const json = (schema: object) => ({ 'application/json': { schema } });
const problem = { description: 'What is wrong and where (RFC 9457)', content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
/** Wherever a key is asked for, too many wrong ones are answered 429. */
const errors = (...statuses: number[]) => Object.fromEntries(statuses.flatMap((status) => (status === 401 ? [401, 429] : [status])).map((status) => [status, problem]));

const answer = (name: keyof typeof ANSWERS) => json({ $ref: `#/components/schemas/${name}` });

/** Members may be added to an answer within v1, so that a client must not refuse what it does not know. */
const answerSchemas = Object.fromEntries(
  Object.entries(ANSWERS).map(([name, schema]) => [name, z.toJSONSchema(schema, { override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties })]),
);

const { idleMs, maxUnreadResults, readPatienceMs, jsonBodyMs, mostHeldBytes } = DEFAULT_BODY_LIMITS;
const ABOUT = `Commands to, and answers about, the registry of marked medicines. The key is asked before a body is read. The bodies of all requests together hold at most ${mostHeldBytes} bytes in memory: one that does not fit in is answered 503 \`backlog_full\` with Retry-After, on any route that takes a body; 413, 415 and 408 are said for bodies that are too large, of another type, or too slow.`;
const LINES = `One command a line, each of at most ${MAX_COMMAND_BYTES} bytes; the answer has one line of result for each, in their order: an Acknowledgement with \`line\`, or \`line\` and \`error\` (a Problem).
The results come while the commands are still being sent, and a client should read them as they come. One that writes everything before it reads may send at most ${maxUnreadResults} lines in one request: when so many results wait and none is read for ${readPatienceMs / 1_000} s, the rest of the lines is refused with a last line \`{"error": {"code": "results_unread", "line": …}}\` that names the first line that was not taken.
A body may take as long as it likes while it keeps coming; after ${idleMs / 1_000} s without a byte the answer ends with a last line \`{"error": {"code": "request_timeout"}}\`.`;

function queryParameters(schema: z.ZodObject): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, one]) => ({ name, in: 'query', required: required.includes(name), schema: one }));
}

const inPath = (name: string, description: string) => ({ name, in: 'path', required: true, description, schema: text });

const paths = {
  '/v1/commands': {
    post: {
      summary: 'Give one command (JSON) or many (NDJSON)',
      description: `A JSON body has at most ${MAX_LARGE_COMMAND_BYTES} bytes (above ${MAX_COMMAND_BYTES} it must tell its Content-Length, and only a few are taken at a time) and ${jsonBodyMs / 1_000} s to arrive. Names must not stand twice in one object, an object has at most ${MAX_NAMES} of them and a body at most ${MAX_PARTS} objects, lists and names; no text holds a NUL, and ids must not begin or end with blanks: nothing is corrected in silence.`,
      parameters: queryParameters(commandParameters),
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Command' } },
          'application/x-ndjson': { schema: { type: 'string', description: LINES } },
        },
      },
      responses: {
        202: { description: 'Acknowledged: stored durably, and never lost from here on', headers: { Location: { schema: text } }, content: answer('Acknowledgement') },
        200: { description: 'The same command again (JSON), or the results line by line (NDJSON)', content: { ...answer('Acknowledgement'), 'application/x-ndjson': { schema: text } } },
        ...errors(400, 401, 403, 408, 409, 413, 415, 422, 503),
      },
    },
  },
  '/v1/commands/{commandId}': {
    get: {
      summary: 'What became of a command',
      parameters: [inPath('commandId', "The ERP's id")],
      responses: { 200: { description: 'Its document as it stands', content: answer('CommandAnswer') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/documents': {
    get: {
      summary: 'List documents, newest first; NDJSON streams the whole list',
      description: 'As NDJSON (Accept: application/x-ndjson) every line is a DocumentSummary, and all pages come in one answer; when it cannot be completed the connection breaks off.',
      parameters: queryParameters(documentListParameters),
      responses: { 200: { description: 'A page, or all as NDJSON', content: { ...answer('DocumentPage'), 'application/x-ndjson': { schema: text } } }, ...errors(400, 401, 403) },
    },
  },
  '/v1/documents/{requestId}': {
    get: {
      summary: 'One document with its whole timeline',
      parameters: [inPath('requestId', 'UUID')],
      responses: { 200: { description: 'The document; known from the moment at which its command was acknowledged', content: answer('Document') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/documents/{requestId}/items': {
    get: {
      summary: 'What became of each item of a concluded document',
      parameters: [inPath('requestId', 'UUID'), ...queryParameters(documentItemsParameters)],
      responses: { 200: { description: 'A page in document order; all pages are of one conclusion', content: answer('DocumentItems') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/documents/{requestId}/resends': {
    post: {
      summary: 'Send a rejected or failed document again, as another one, for a reason that is kept',
      description: 'The same bytes, or corrected ones, under a request_id of their own; both documents name each other. Its outcome comes under the command_id of the ERP and its reference, with resend_of. Once for each document; the same call again changes nothing. 409 not_resendable says why a document is not sent again.',
      parameters: [inPath('requestId', 'UUID of the document that ended badly')],
      requestBody: { required: true, content: json(z.toJSONSchema(resendBody, { io: 'input' })) },
      responses: { 202: { description: 'Acknowledged, as a command is', content: answer('Resent') }, 200: { description: 'The same call again', content: answer('Resent') }, ...errors(400, 401, 403, 404, 409, 413, 422, 503) },
    },
  },
  '/v1/documents/{requestId}/release': {
    post: {
      summary: 'Send it all the same, though something that it comes after ended badly',
      description: 'The hold is waived, for a reason that is kept. Only of a document that is held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [inPath('requestId', 'UUID of the document')],
      requestBody: { required: true, content: json(z.toJSONSchema(holdBody, { io: 'input' })) },
      responses: { 202: { description: 'Acknowledged', content: answer('HoldDecision') }, ...errors(400, 401, 403, 404, 409, 422) },
    },
  },
  '/v1/documents/{requestId}/end': {
    post: {
      summary: 'End it as failed, because something that it comes after ended badly',
      description: 'It concludes as failed with the cause predecessor_failed; nothing was sent. Only of a document that is held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [inPath('requestId', 'UUID of the document')],
      requestBody: { required: true, content: json(z.toJSONSchema(holdBody, { io: 'input' })) },
      responses: { 202: { description: 'Acknowledged', content: answer('HoldDecision') }, ...errors(400, 401, 403, 404, 409, 422) },
    },
  },
  '/v1/groups/{groupId}/release': {
    post: {
      summary: 'Send it all the same, though something that it comes after ended badly',
      description: 'The hold is waived, for a reason that is kept. Only of a group that is held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [inPath('groupId', 'UUID of the group')],
      requestBody: { required: true, content: json(z.toJSONSchema(holdBody, { io: 'input' })) },
      responses: { 202: { description: 'Acknowledged', content: answer('HoldDecision') }, ...errors(400, 401, 403, 404, 409, 422) },
    },
  },
  '/v1/groups/{groupId}/end': {
    post: {
      summary: 'End it as failed, because something that it comes after ended badly',
      description: 'It concludes as failed with the cause predecessor_failed; nothing was sent. Only of a group that is held: 409 not_held says how it stands. The same call again changes nothing.',
      parameters: [inPath('groupId', 'UUID of the group')],
      requestBody: { required: true, content: json(z.toJSONSchema(holdBody, { io: 'input' })) },
      responses: { 202: { description: 'Acknowledged', content: answer('HoldDecision') }, ...errors(400, 401, 403, 404, 409, 422) },
    },
  },
  '/v1/groups': {
    get: {
      summary: 'List groups, newest first',
      description: 'Documents that the registry processes in order (bulk processing), and large documents that were split into parts.',
      parameters: queryParameters(groupListParameters),
      responses: { 200: { description: 'A page', content: answer('GroupPage') }, ...errors(400, 401, 403) },
    },
  },
  '/v1/groups/{groupId}': {
    get: {
      summary: 'One group with its members and its timeline',
      parameters: [inPath('groupId', 'UUID')],
      responses: { 200: { description: 'The group; known from the moment at which its command was acknowledged', content: answer('Group') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/groups/{groupId}/resumptions': {
    post: {
      summary: 'Resume a group that halted: the corrected member, and what was not processed, in order',
      parameters: [inPath('groupId', 'UUID')],
      requestBody: { required: true, content: json(z.toJSONSchema(resumptionBody, { io: 'input' })) },
      responses: {
        202: { description: 'Acknowledged; the answer names the new group', headers: { Location: { schema: text } }, content: answer('Acknowledgement') },
        200: { description: 'The same resumption again', content: answer('Acknowledgement') },
        ...errors(400, 401, 403, 404, 409, 413, 415, 422, 503),
      },
    },
  },
  '/v1/outcomes': {
    get: {
      summary: 'What the ERP is told, in order: the feed for those without a bus',
      description: 'CloudEvents 1.0, the same bytes as on the bus. Take them, keep next_after, and ask again; with `wait` the answer comes as soon as there is one. 410 when outcomes after that place are kept no longer.',
      parameters: queryParameters(outcomeFeedParameters),
      responses: { 200: { description: 'A page, perhaps empty', content: answer('OutcomePage') }, ...errors(400, 401, 403, 410, 503) },
    },
  },
  '/v1/webhooks': {
    get: { summary: 'Webhooks, with how far each has come', responses: { 200: { description: 'All of them', content: answer('WebhookList') }, ...errors(401, 403) } },
    post: {
      summary: 'Have outcomes posted to an address, signed by Standard Webhooks',
      requestBody: { required: true, content: json(z.toJSONSchema(webhookBody, { io: 'input' })) },
      responses: { 201: { description: 'Made; the secret is shown this once', content: answer('NewWebhook') }, ...errors(400, 401, 403, 503) },
    },
  },
  '/v1/webhooks/{id}': {
    delete: { summary: 'Remove a webhook', parameters: [inPath('id', 'UUID'), ...queryParameters(webhookRemoval)], responses: { 204: { description: 'Removed' }, ...errors(400, 401, 403, 404) } },
  },
  '/v1/webhooks/{id}/resume': {
    post: {
      summary: 'Have a halted webhook go on',
      parameters: [inPath('id', 'UUID')],
      requestBody: { required: false, content: json(z.toJSONSchema(webhookResumption, { io: 'input' })) },
      responses: { 200: { description: 'It goes on', content: answer('Webhook') }, ...errors(400, 401, 403, 404, 410) },
    },
  },
  '/v1/inbound': {
    get: {
      summary: 'List documents that are not ours, newest first: told by other participants, or sent in our name past this system; NDJSON streams the whole list',
      description: 'As NDJSON (Accept: application/x-ndjson) every line is an InboundSummary, and all pages come in one answer; when it cannot be completed the connection breaks off.',
      parameters: queryParameters(inboundListParameters),
      responses: { 200: { description: 'A page, or all as NDJSON', content: { ...answer('InboundPage'), 'application/x-ndjson': { schema: text } } }, ...errors(400, 401, 403) },
    },
  },
  '/v1/inbound/{documentId}': {
    get: {
      summary: 'One document that is not ours, with its whole timeline and the document of ours that it belongs to',
      parameters: [inPath('documentId', "The registry's id")],
      responses: { 200: { description: 'The document', content: answer('InboundDocument') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/packs/{sgtin}/history': {
    get: {
      summary: "One pack's movements, its containers' while they held it included",
      parameters: [inPath('sgtin', '14 digits and 13 letters or digits'), ...queryParameters(historyParameters)],
      responses: { 200: { description: 'The history', content: answer('PackHistory') }, ...errors(400, 401, 403, 404, 422) },
    },
  },
  '/v1/evidence/{sha256}': {
    get: {
      summary: 'A piece of evidence, byte for byte',
      parameters: [inPath('sha256', '64 lower-case hexadecimal digits')],
      responses: { 200: { description: 'The bytes, checked against their digest', content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/summary': { get: { summary: 'Documents by outcome', responses: { 200: { description: 'Counts', content: answer('OutcomeCounts') }, ...errors(401, 403) } } },
  '/v1/operations': {
    get: { summary: 'What waits, what was given up, how far the read models are behind', responses: { 200: { description: 'How the machinery stands', content: answer('OperationsStatus') }, ...errors(401, 403) } },
  },
  '/v1/accounts': {
    get: {
      summary: 'Accounts at the registry: whether anything is sent through them, why not, and with which certificate they sign',
      responses: { 200: { description: 'All that are configured', content: answer('AccountList') }, ...errors(401, 403) },
    },
  },
  '/v1/accounts/{name}/resumptions': {
    post: {
      summary: 'Have a paused account go on, for a reason that is kept',
      description: 'All its documents go then, each once. The same call again changes nothing. It is paused again when the registry refuses it again.',
      parameters: [inPath('name', 'The account')],
      requestBody: { required: true, content: json(z.toJSONSchema(accountResumption, { io: 'input' })) },
      responses: { 200: { description: 'How it stands now', content: answer('Account') }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/operations/failed-tasks': {
    get: { summary: 'Tasks that were given up, with their errors', responses: { 200: { description: 'At most 1,000', content: answer('FailedTasks') }, ...errors(401, 403) } },
  },
  '/v1/operations/parked': {
    get: {
      summary: 'Documents and groups that do not go on, because one of their events could not be worked on; the longest first',
      responses: { 200: { description: 'At most 1,000', content: answer('ParkedInstances') }, ...errors(401, 403) },
    },
  },
  '/v1/operations/orphans': {
    get: {
      summary: 'Documents and groups that are not concluded and that nothing carries on: there should be none; the oldest first',
      responses: { 200: { description: 'At most 1,000', content: answer('OrphanList') }, ...errors(401, 403) },
    },
  },
  '/v1/operations/replans': {
    post: {
      summary: 'Have every orphan carried on from where it stands, for a reason that is kept',
      requestBody: { required: true, content: json(z.toJSONSchema(replanBody, { io: 'input' })) },
      responses: { 200: { description: 'The orphans, each of which has a task now', content: answer('OrphanList') }, ...errors(400, 401, 403) },
    },
  },
  '/v1/operations/retries': {
    post: {
      summary: 'Have a failed task, or what is parked, tried again, for a reason that is kept',
      description: 'By the key in one of the two lists; `parked:<saga>` means everything of that saga.',
      requestBody: { required: true, content: json(z.toJSONSchema(retryBody, { io: 'input' })) },
      responses: { 204: { description: 'It is due now' }, ...errors(400, 401, 403, 404) },
    },
  },
  '/v1/operations/configuration': {
    get: {
      summary: 'What programs were set to, who changed it and why, newest first',
      parameters: queryParameters(configurationParameters),
      responses: { 200: { description: 'A page', content: answer('ConfigurationChanges') }, ...errors(400, 401, 403) },
    },
  },
  '/v1/operations/dead-letters': {
    get: {
      summary: 'Messages of the bus that could not be handled, with why; oldest first',
      parameters: queryParameters(deadLetterListParameters),
      responses: { 200: { description: 'Without their bodies', content: answer('DeadLetterList') }, ...errors(400, 401, 403, 503) },
    },
  },
  '/v1/operations/dead-letters/{id}': {
    get: {
      summary: 'One of them with its body',
      parameters: [inPath('id', 'As in the list')],
      responses: { 200: { description: 'The message as it came', content: answer('DeadLetter') }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/operations/dead-letters/{id}/replays': {
    post: {
      summary: 'Put it back into the queue, for a reason that is kept',
      parameters: [inPath('id', 'As in the list')],
      requestBody: { required: true, content: json(z.toJSONSchema(letterDecision, { io: 'input' })) },
      responses: { 204: { description: 'It stands at the end of the queue' }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/operations/dead-letters/{id}/discards': {
    post: {
      summary: 'Discard it, for a reason that is kept: it counts no more, and is listed on request',
      parameters: [inPath('id', 'As in the list')],
      requestBody: { required: true, content: json(z.toJSONSchema(letterDecision, { io: 'input' })) },
      responses: { 204: { description: 'It is out of the queue of dead letters' }, ...errors(400, 401, 403, 404, 503) },
    },
  },
  '/v1/reconciliations': {
    get: {
      summary: 'Comparisons of what we hold with what the lists of the registry show, newest first',
      parameters: queryParameters(reconciliationListParameters),
      responses: { 200: { description: 'A page', content: answer('ReconciliationPage') }, ...errors(400, 401, 403) },
    },
    post: {
      summary: 'Ask for a comparison now, for a reason that is kept; the reconciler makes it',
      requestBody: { required: true, content: json(z.toJSONSchema(reconciliationBody, { io: 'input' })) },
      responses: { 202: { description: 'Asked for, durably', headers: { Location: { schema: text } }, content: answer('Reconciliation') }, ...errors(400, 401, 403) },
    },
  },
  '/v1/reconciliations/{runId}': {
    get: {
      summary: 'One comparison with its findings',
      parameters: [inPath('runId', 'UUID'), ...queryParameters(reconciliationFindingParameters)],
      responses: { 200: { description: 'As it stands; with a page of its findings once it was made', content: answer('ReconciliationDetail') }, ...errors(400, 401, 403, 404) },
    },
  },
  '/health/live': { get: { summary: 'The process is alive', security: [], responses: { 200: { description: 'live' } } } },
  '/health/ready': { get: { summary: 'Commands can be taken', security: [], responses: { 200: { description: 'ready, or degraded: commands are taken, and somebody must look at what is named, a paused account, a certificate that ends, a program that does not run, a subscription that is halted or does not move, dead letters, documents that nothing carries on, or that every API key is revoked' }, ...errors(503) } } },
};

/** The API as OpenAPI 3.1. Request shapes come from the very schemas that check the requests. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Pedigree', version: '1', description: ABOUT, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key. Until the first one is made none is needed on loopback, by calls that this machine makes: a Host or Origin of another name, and what a proxy passes on, is answered 403.' } },
      schemas: {
        Command: z.toJSONSchema(commandBody, { io: 'input' }),
        ...answerSchemas,
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
            instance: { type: 'string', description: 'Names a fault of the service; its log has the details under this name.' },
          },
          required: ['type', 'title', 'status', 'detail', 'code'],
        },
      },
    },
  };
}
