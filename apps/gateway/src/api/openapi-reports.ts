import { errors, FILES, orFile, queryParameters } from './openapi-parts.js';
import { timelinessParameters } from './parameters.js';

/** What auditors and operators ask of many documents. */
export const reportPaths = {
  '/v1/reports/timeliness': {
    get: {
      operationId: 'reportTimeliness',
      tags: ['Reports'],
      summary: 'When documents were due by the calendar of deadlines, when that was met, how late, and why',
      description:
        'The newest day first. A document that claims no instant stands at the moment at which it was known. As ' +
        `NDJSON every line is a TimelinessRow, as CSV or Excel every row names the calendar too. ${FILES}`,
      parameters: queryParameters(timelinessParameters),
      responses: {
        200: orFile('Timeliness', 'A page, one document a row'),
        ...errors(400, 401, 403, 422),
      },
    },
  },
};
