import { accessLogParameters } from './access-parameters.js';
import { errors, FILES, orFile, queryParameters } from './openapi-parts.js';

/** Who did what. */
export const accessPaths = {
  '/v1/access-log': {
    get: {
      operationId: 'listAccess',
      tags: ['Operations'],
      summary:
        'Who did what, newest first: keys, evidence that was opened, exports, decisions of people, and settings; ' +
        'for auditors',
      description: `${FILES} An answer may be a moment behind the log.`,
      parameters: queryParameters(accessLogParameters),
      responses: { 200: orFile('AccessPage', 'A page, the newest first'), ...errors(400, 401, 403, 503) },
    },
  },
};
