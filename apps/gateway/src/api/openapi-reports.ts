import { answered, body, errors, FILES, inPath, orFile, queryParameters } from './openapi-parts.js';
import {
  expiringParameters,
  mockRecallBody,
  mockRecallListParameters,
  overrideParameters,
  transferParameters,
  unmovedParameters,
} from './report-parameters.js';
import { timelinessParameters } from './parameters.js';

const boundsBy = (shorter: string): string =>
  'In one snapshot of the database: `known_at` is its log position. At most 50,000 lines and 30 s; above that 422 ' +
  `or 503: ask for ${shorter} then. In files every row has as_of and known_at.`;
const BOUNDS = boundsBy('a place or a product');
const OF_TRANSFERS = boundsBy('a partner, a direction or more days');
const RECALL_ID = inPath('recallId', 'The id of the mock recall: the list names it.');
const tags = ['Reports'];

/** What auditors and operators ask of many documents. */
export const reportPaths = {
  '/v1/reports/timeliness': {
    get: {
      operationId: 'reportTimeliness',
      tags: ['Reports'],
      summary: 'When documents were due by the calendar of deadlines, when that was met, how late, and why',
      description:
        'The newest day first. A document that claims no instant stands at the moment at which it was known. As ' +
        'NDJSON every line is a TimelinessRow. Every row names the calendar. Where none is set, a file of ' +
        `what is late has one row, of \`state\`, \`why\`, \`as_of\` and \`up_to\` alone. ${FILES}`,
      parameters: queryParameters(timelinessParameters),
      responses: {
        200: orFile('Timeliness', 'A page, one document a row'),
        ...errors(422),
      },
    },
  },
  '/v1/reports/unmoved-packs': {
    get: {
      ...{ operationId: 'reportUnmovedPacks', tags },
      summary: 'Packs on our shelves that no document has moved for so many days, the longest first',
      description: `${BOUNDS} ${FILES}`,
      parameters: queryParameters(unmovedParameters),
      responses: { 200: orFile('UnmovedPacks', 'All lines'), ...errors(422, 503) },
    },
  },
  '/v1/reports/expiring-packs': {
    get: {
      ...{ operationId: 'reportExpiringPacks', tags },
      summary: 'Packs on our shelves that expire within so many days, or have expired, the earliest first',
      description: `${BOUNDS} ${FILES}`,
      parameters: queryParameters(expiringParameters),
      responses: { 200: orFile('ExpiringPacks', 'All lines'), ...errors(422, 503) },
    },
  },
  '/v1/reports/overdue-transfers': {
    get: {
      ...{ operationId: 'reportOverdueTransfers', tags },
      summary: 'Transfers that the awaited side has not accepted for so many days, the oldest first',
      description: `A line for each document by which packs or containers wait. ${OF_TRANSFERS} ${FILES}`,
      parameters: queryParameters(transferParameters),
      responses: { 200: orFile('OverdueTransfers', 'All lines'), ...errors(422, 503) },
    },
  },
  '/v1/reports/overrides': {
    get: {
      ...{ operationId: 'reportOverrides', tags },
      summary: 'Who overrode what, and for which reason: waivers, releases, confirmations and others; newest first',
      description: `Taken from the log of access. ${FILES}`,
      parameters: queryParameters(overrideParameters),
      responses: { 200: orFile('Overrides', 'A page'), ...errors(422) },
    },
  },
  '/v1/mock-recalls': {
    get: {
      ...{ operationId: 'listMockRecalls', tags },
      summary: 'Mock recalls and how long each took, newest first',
      description: FILES,
      parameters: queryParameters(mockRecallListParameters),
      responses: { 200: orFile('MockRecallPage', 'A page, without the places'), ...errors(422) },
    },
    post: {
      ...{ operationId: 'beginMockRecall', tags },
      summary: 'Begin a mock recall of a series, and find where all its packs are',
      description:
        'It begins in the log. The answer counts once the record of packs holds all that was in the log by then: for ' +
        '20 s it is waited for. In state `begun` it is asked for again with .../trace.',
      requestBody: body('beginMockRecall', mockRecallBody),
      responses: { 200: answered('MockRecall', 'As it stands now'), ...errors(503) },
    },
  },
  '/v1/mock-recalls/{recallId}': {
    get: {
      ...{ operationId: 'showMockRecall', tags },
      summary: 'One mock recall: how long it took, and every branch and place that held packs then',
      description: FILES,
      parameters: [RECALL_ID],
      responses: { 200: orFile('MockRecall', 'As the log has it'), ...errors(404, 422) },
    },
  },
  '/v1/mock-recalls/{recallId}/trace': {
    post: {
      ...{ operationId: 'traceMockRecall', tags },
      summary: 'Go on with a mock recall that has no answer yet; one that has stays as it is',
      parameters: [RECALL_ID],
      responses: { 200: answered('MockRecall', 'As it stands now'), ...errors(404, 503) },
    },
  },
};
