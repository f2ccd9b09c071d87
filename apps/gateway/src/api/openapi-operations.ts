import {
  answer,
  answered,
  body,
  errors,
  FILES,
  inPath,
  location,
  orFile,
  problems,
  queryParameters,
} from './openapi-parts.js';
import { provable } from './openapi-proofs.js';
import {
  accountResumption,
  configurationParameters,
  deadLetterListParameters,
  letterDecision,
  reconciliationFindingParameters,
  reconciliationListParameters,
  replanBody,
  retryBody,
} from './parameters.js';
import { findingListParameters, reconciliationBody } from './reconciliation-parameters.js';

/** How the machinery stands, and what a person does about it. */
export const operationPaths = {
  '/v1/operations': {
    get: {
      operationId: 'showOperations',
      tags: ['Operations'],
      summary: 'What waits, what was given up, how far the read models are behind',
      responses: {
        200: answered('OperationsStatus', 'How the machinery stands'),
        ...errors(),
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
        200: answered('AccountList', 'All that are configured'),
        ...errors(),
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
        200: answered('Account', 'How it stands now'),
        ...errors(404, 503),
      },
    },
  },
  '/v1/operations/failed-tasks': {
    get: {
      operationId: 'listFailedTasks',
      tags: ['Operations'],
      summary: 'Tasks that were given up, with their errors',
      responses: {
        200: answered('FailedTasks', 'The tasks that were given up, the newest first; at most 1,000'),
        ...errors(),
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
        200: answered('ParkedInstances', 'What is parked, with why; at most 1,000'),
        ...errors(),
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
        200: answered('OrphanList', 'The orphans, the oldest first; at most 1,000'),
        ...errors(),
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
        200: answered('OrphanList', 'The orphans, each of which has a task now'),
        ...errors(),
      },
    },
  },
  '/v1/operations/retries': {
    post: {
      operationId: 'retryTask',
      tags: ['Operations'],
      summary: 'Have a failed task, or what is parked, tried again, for a reason that is kept',
      description:
        'By the key in one of the two lists. `failed:<kind>` means all failed tasks of that kind, at most 100,000; ' +
        '`parked:<saga>` means everything of that saga.',
      requestBody: body('retryTask', retryBody),
      responses: {
        204: { description: 'It is due now; the lists show whether it succeeds' },
        ...errors(404),
      },
    },
  },
  '/v1/operations/configuration': {
    get: provable({
      operationId: 'listConfigurationChanges',
      tags: ['Operations'],
      summary: 'What programs were set to, who changed it and why, newest first',
      parameters: queryParameters(configurationParameters),
      responses: {
        200: answered('ConfigurationChanges', 'A page of changes, the newest first'),
        ...errors(),
      },
    }),
  },
  '/v1/operations/dead-letters': {
    get: {
      operationId: 'listDeadLetters',
      tags: ['Operations'],
      summary: 'Messages of the bus that could not be handled, with why; oldest first',
      parameters: queryParameters(deadLetterListParameters),
      responses: {
        200: answered('DeadLetterList', 'The letters, the oldest first, without their bodies'),
        ...errors(503),
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
        200: answered('DeadLetter', 'The message as it came'),
        ...errors(404, 503),
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
      responses: { 204: { description: 'It stands at the end of the queue' }, ...errors(404, 503) },
    },
  },
  '/v1/operations/dead-letters/{id}/discards': {
    post: {
      operationId: 'discardDeadLetter',
      tags: ['Operations'],
      summary: 'Discard it, for a reason that is kept: it counts no more, and is listed on request',
      parameters: [inPath('id', 'The id of the letter: the list names it, while the letter lies there.')],
      requestBody: body('discardDeadLetter', letterDecision),
      responses: { 204: { description: 'It is out of the queue of dead letters' }, ...errors(404, 503) },
    },
  },
  '/v1/reconciliations': {
    get: {
      operationId: 'listReconciliations',
      tags: ['Reconciliation'],
      summary: 'Comparisons of what we hold with what the lists of the registry show, newest first',
      parameters: queryParameters(reconciliationListParameters),
      responses: {
        200: answered('ReconciliationPage', 'A page of comparisons, the newest first'),
        ...errors(),
      },
    },
    post: {
      operationId: 'requestReconciliation',
      tags: ['Reconciliation'],
      summary: 'Ask for a comparison now, for a reason that is kept; the reconciler makes it',
      description:
        'With `packs` packs are compared, from snapshots that lie with the reconciler; it needs SEGMENTS_DIR. ' +
        'GET /v1/reconciliations/{runId} tells how far it is, with an estimate.',
      requestBody: body('requestReconciliation', reconciliationBody),
      responses: {
        202: {
          description: 'Asked for, durably',
          headers: location('Where to look at the comparison.'),
          content: answer('Reconciliation'),
        },
        ...errors(422),
      },
    },
  },
  '/v1/reconciliations/{runId}': {
    get: provable({
      operationId: 'showReconciliation',
      tags: ['Reconciliation'],
      summary: 'One comparison with its findings',
      parameters: [
        inPath('runId', 'The id of the comparison: the list names it, and the answer to the request for one.'),
        ...queryParameters(reconciliationFindingParameters),
      ],
      responses: {
        200: answered(
          'ReconciliationDetail',
          'As it stands; of documents with a page of its findings once it was made',
        ),
        ...errors(404),
      },
    }),
  },
  '/v1/reconciliations/{runId}/findings': {
    get: {
      operationId: 'listFindings',
      tags: ['Reconciliation'],
      summary: 'Findings of one comparison, of documents or of packs',
      description:
        '404 says why there are none to list: the comparison is not made yet, has failed, or its findings were ' +
        'removed. Findings about packs are read from the files of the reconciler: the gateway needs SEGMENTS_DIR. ' +
        'A filter of the other kind is refused. ' +
        `Columns of files are those of the kind of the run. ${FILES}`,
      parameters: [
        inPath('runId', 'The id of the comparison: the list names it, and the answer to the request for one.'),
        ...queryParameters(findingListParameters),
      ],
      responses: { 200: orFile('FindingPage', 'A page of findings'), ...errors(404, 422, 503) },
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
        ...problems(503),
      },
    },
  },
};
