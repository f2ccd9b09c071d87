import { letterBody, listConfirmationBody, suspensionActionBody } from '../suspensions/suspension-body.js';
import { answered, body, errors, FILES, inPath, orFile, orPage, queryParameters } from './openapi-parts.js';
import { provable } from './openapi-proofs.js';
import {
  suspendedListParameters,
  suspensionAnswerParameters,
  suspensionListParameters,
  suspensionParameters,
} from './suspension-parameters.js';

const SUSPENSION_ID = inPath('suspensionId', 'The id of the suspension: the list names it.');
const tags = ['Suspensions'];

/** Series that must not be sold or sent on: by the registry's list, and by letters that persons enter. */
export const suspensionPaths = {
  '/v1/suspensions': {
    get: {
      ...{ operationId: 'listSuspensions', tags },
      summary: 'Suspensions of series, by the registry’s list and by letters, newest first',
      description: FILES,
      parameters: queryParameters(suspensionListParameters),
      responses: { 200: orFile('SuspensionPage', 'A page of suspensions'), ...errors(422) },
    },
    post: {
      ...{ operationId: 'enterSuspension', tags },
      summary: 'Enter a letter that suspends, terminates, recalls or releases a series; its file becomes evidence',
      description: 'The same letter again changes nothing. Its products are matched by a person, with an action.',
      requestBody: body('enterSuspension', letterBody),
      responses: { 200: answered('SuspensionAfterAction', 'As it stands now'), ...errors(409, 413, 503) },
    },
  },
  '/v1/suspensions/{suspensionId}': {
    get: provable({
      ...{ operationId: 'showSuspension', tags },
      summary: 'One suspension with its history, and our packs that it concerns, by branch',
      parameters: [SUSPENSION_ID, ...queryParameters(suspensionParameters)],
      responses: { 200: answered('Suspension', 'As the log has it'), ...errors(404) },
    }),
  },
  '/v1/suspensions/{suspensionId}/reply': {
    get: {
      ...{ operationId: 'showSuspensionReply', tags },
      summary: 'The newest reply as a document: what it answers, what was found by place, also when there was nothing',
      description: `As text/html a page to print and to file, which runs no script. ${FILES}`,
      parameters: [SUSPENSION_ID],
      responses: {
        200: orPage(orFile('SuspensionReply', 'The reply, with our record of the series as it is now')),
        ...errors(404, 422),
      },
    },
  },
  '/v1/suspensions/{suspensionId}/actions': {
    post: {
      ...{ operationId: 'actOnSuspension', tags },
      summary: 'Match a letter to products, change it by a later letter, reply to it, or close it, for a reason',
      description: 'It is closed only once its newest version has a reply. What does not fit is answered 409.',
      parameters: [SUSPENSION_ID],
      requestBody: body('actOnSuspension', suspensionActionBody),
      responses: { 200: answered('SuspensionAfterAction', 'As it stands now'), ...errors(404, 409, 413, 503) },
    },
  },
  '/v1/suspended-lists': {
    get: {
      ...{ operationId: 'listSuspendedLists', tags },
      summary: 'Versions of the registry’s list of suspended packs that we held, newest first',
      parameters: queryParameters(suspendedListParameters),
      responses: { 200: answered('SuspendedListPage', 'A page of versions'), ...errors() },
    },
  },
  '/v1/suspended-lists/{sha256}/confirmations': {
    post: {
      ...{ operationId: 'confirmSuspendedList', tags },
      summary: 'Say that the newest list is right, though it is doubted: the next reading then releases what it lacks',
      parameters: [inPath('sha256', 'list_sha256 of the newest version.')],
      requestBody: body('confirmSuspendedList', listConfirmationBody),
      responses: { 204: { description: 'It is believed' }, ...errors(409, 503) },
    },
  },
  '/v1/series/{gtin}/{series}/suspension': {
    get: {
      ...{ operationId: 'askSuspension', tags },
      summary: 'Was this series suspended in the newest list that we held at a moment, and how old was that list?',
      description: 'Nothing that came after the moment speaks in the answer, but for `suspended_now`.',
      parameters: [
        inPath('gtin', 'The product: 14 digits.'),
        inPath('series', 'The series, letter by letter.'),
        ...queryParameters(suspensionAnswerParameters),
      ],
      responses: { 200: answered('SuspensionAnswer', 'By what we held then'), ...errors(404) },
    },
  },
};
