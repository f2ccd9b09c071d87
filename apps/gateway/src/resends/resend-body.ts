import { z } from 'zod';
import { accountName, commandBody, commandId } from '../intake/command-body.js';

/** What an operator says when a document is to be sent again. */
export const resendBody = z
  .strictObject({
    reason: z.string().trim().min(3).max(1_000).describe('Why. It is kept with the event, beside who asked.'),
    command_id: commandId.optional().describe('Id of the new command. Default: `resend-` and the request_id.'),
    account: accountName.optional().describe('Account to send with. Default: the one of the document.'),
    xml: commandBody.shape.xml.describe(
      'The corrected document as XML. Without it and `document` the same document is resent with a new session_ui.',
    ),
    document: commandBody.shape.document.describe('The corrected document as JSON.'),
  })
  .refine((body) => body.xml === undefined || body.document === undefined, {
    error: 'give either `xml` or `document`, and not both',
    path: ['xml'],
  });
