import { answered, body, errors, inPath, queryParameters } from './openapi-parts.js';
import { outcomeFeedParameters, webhookBody, webhookReason, webhookResumption } from './parameters.js';

/** What the ERP is told: the feed, and webhooks. */
export const outcomePaths = {
  '/v1/outcomes': {
    get: {
      operationId: 'listOutcomes',
      tags: ['Outcomes'],
      summary: 'What the ERP is told, in order: the feed for those without a bus',
      description:
        'CloudEvents 1.0, the same bytes as on the bus. Take them, keep next_after, and ask again; with `wait` ' +
        'the answer comes as soon as there is one. 410 when outcomes after that place are kept no longer.',
      parameters: queryParameters(outcomeFeedParameters),
      responses: {
        200: answered('OutcomePage', 'A page of outcomes in their order; empty when there is none after that place'),
        ...errors(410, 503),
      },
    },
  },
  '/v1/webhooks': {
    get: {
      operationId: 'listWebhooks',
      tags: ['Outcomes'],
      summary: 'Webhooks, with how far each has come',
      responses: {
        200: answered('WebhookList', 'All webhooks; none of them with its secret'),
        ...errors(),
      },
    },
    post: {
      operationId: 'addWebhook',
      tags: ['Outcomes'],
      summary: 'Have outcomes posted to an address, signed by Standard Webhooks',
      requestBody: body('addWebhook', webhookBody),
      responses: {
        201: answered('NewWebhook', 'Made; the secret is shown this once'),
        ...errors(503),
      },
    },
  },
  '/v1/webhooks/{id}': {
    delete: {
      operationId: 'removeWebhook',
      tags: ['Outcomes'],
      summary: 'Remove a webhook',
      parameters: [
        inPath('id', 'The id of the webhook, a UUID: the list names it.'),
        ...queryParameters(webhookReason),
      ],
      responses: {
        204: { description: 'It is removed: nothing more is posted, and what it lacked is not kept for it' },
        ...errors(404),
      },
    },
  },
  '/v1/webhooks/{id}/secrets': {
    post: {
      operationId: 'changeWebhookSecret',
      tags: ['Outcomes'],
      summary: 'Give a webhook a new secret',
      description:
        'For a day both secrets sign: the header `webhook-signature` has two signatures, and libraries of Standard ' +
        'Webhooks take a message when one of them fits. The secret before the last signs no more.',
      parameters: [inPath('id', 'The id of the webhook, a UUID: the list names it.')],
      requestBody: body('changeWebhookSecret', webhookReason, { required: false }),
      responses: {
        201: answered('NewWebhook', 'Changed; the new secret is shown this once'),
        ...errors(404, 503),
      },
    },
  },
  '/v1/webhooks/{id}/resume': {
    post: {
      operationId: 'resumeWebhook',
      tags: ['Outcomes'],
      summary: 'Have a halted webhook go on',
      parameters: [inPath('id', 'The id of the webhook, a UUID: the list names it.')],
      requestBody: body('resumeWebhook', webhookResumption, { required: false }),
      responses: {
        200: answered('Webhook', 'It goes on; the webhook as it stands now'),
        ...errors(404, 410),
      },
    },
  },
};
