import { accessLogParameters } from './access-parameters.js';
import { answered, errors, FILES, inPath, orFile, queryParameters } from './openapi-parts.js';
import { provable } from './openapi-proofs.js';

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
      responses: { 200: orFile('AccessPage', 'A page, the newest first'), ...errors(503) },
    },
  },
  '/v1/access-log/{position}': {
    get: provable({
      operationId: 'showAccess',
      tags: ['Operations'],
      summary: 'One entry of who did what; for auditors',
      description:
        'It is read from the log itself. Its proof has the one event it was made from, and no other of its stream.',
      parameters: [inPath('position', 'The log position of the entry: the list names it.')],
      responses: { 200: answered('AccessEntry', 'As the log has it'), ...errors(404) },
    }),
  },
};
