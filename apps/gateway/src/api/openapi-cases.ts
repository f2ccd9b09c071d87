import { caseActionBody, caseActionsBody, caseReleaseBody } from '../cases/case-body.js';
import { answered, body, errors, FILES, inPath, orFile, queryParameters } from './openapi-parts.js';
import { provable } from './openapi-proofs.js';
import { caseListParameters } from './parameters.js';

const CASE_ID = inPath('caseId', 'The id of the case: the list names it.');

/** Differences that runs have found, and what persons do about them. */
export const casePaths = {
  '/v1/cases': {
    get: {
      operationId: 'listCases',
      tags: ['Reconciliation'],
      summary:
        'Cases: what runs have found, by cause, newest first; each with its state, its due moment and who follows it',
      description: FILES,
      parameters: queryParameters(caseListParameters),
      responses: { 200: orFile('CasePage', 'A page of cases, the newest first'), ...errors(422) },
    },
  },
  '/v1/cases/actions': {
    post: {
      operationId: 'actOnCases',
      tags: ['Reconciliation'],
      summary: 'Do the same about up to 500 cases, for one reason that is kept',
      description: 'Each case by itself: one that it does not fit does not stop the others.',
      requestBody: body('actOnCases', caseActionsBody),
      responses: {
        200: answered('CaseActionResults', 'What became of each, in their order'),
        ...errors(503),
      },
    },
  },
  '/v1/cases/{caseId}': {
    get: provable({
      operationId: 'showCase',
      tags: ['Reconciliation'],
      summary: 'One case with its history',
      parameters: [CASE_ID],
      responses: { 200: answered('Case', 'As the log has it'), ...errors(404) },
    }),
  },
  '/v1/cases/{caseId}/releases': {
    post: {
      operationId: 'releaseCase',
      tags: ['Reconciliation'],
      summary: 'Have the suggested document of a case sent, for a reason that is kept; its receipt resolves the case',
      description:
        'It goes through the intake as any command. The same again changes nothing while that document is under way.',
      parameters: [CASE_ID],
      requestBody: body('releaseCase', caseReleaseBody),
      responses: { 200: answered('Case', 'As it stands now'), ...errors(404, 409, 422, 503) },
    },
  },
  '/v1/cases/{caseId}/actions': {
    post: {
      operationId: 'actOnCase',
      tags: ['Reconciliation'],
      summary: 'Acknowledge, assign, comment, explain, resolve, reopen or split a case, for a reason that is kept',
      description: 'The same again changes nothing. What does not fit how the case stands is answered 409.',
      parameters: [CASE_ID],
      requestBody: body('actOnCase', caseActionBody),
      responses: { 200: answered('Case', 'As it stands now'), ...errors(404, 409, 503) },
    },
  },
};
