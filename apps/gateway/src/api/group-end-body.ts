import { z } from 'zod';
import { holdBody } from './parameters.js';

/** Why a group is ended, and what of it. */
export const groupEndBody = holdBody.extend({
  in_work: z
    .boolean()
    .optional()
    .describe(
      'True: also what the registry shows as in work, where nobody knows whether the group has begun, or it halted ' +
        'before that: on your word that the registry does not process it. Such a group is not resumed.',
    ),
});
