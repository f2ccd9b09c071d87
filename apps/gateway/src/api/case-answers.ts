import { z } from 'zod';
import { caseSummary, shapes } from '#read-models';

/** The shapes of the API's answers about cases. Names as in the API. */

export const casePage = shapes.pageShape(caseSummary);

export const caseActionResults = z.strictObject({
  items: z.array(
    z.strictObject({
      case_id: z.uuid(),
      done: z.boolean().describe('Whether it stands now as was asked.'),
      why: z.string().optional().describe('Why not.'),
    }),
  ),
});
