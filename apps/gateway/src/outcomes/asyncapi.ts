import { z } from 'zod';
import { busNames } from '#bus';
import { cloudEventOf, OUTCOME_DATA, OUTCOME_TOPICS, type OutcomeType } from '#read-models';
import { commandBody } from '../intake/command-body.js';
import { stockPartBody } from '../stock-uploads/stock-parts.js';
import { CLOUD_EVENT_TYPE } from './publisher.js';

const NAMES = busNames('pedigree');
const TYPES = Object.keys(OUTCOME_DATA) as OutcomeType[];

/**
 * AsyncAPI's own schemas are those of JSON Schema draft 7. Members may be added to an outcome within v1, so that nobody
 * may refuse what he does not know.
 */
const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): object => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    override: ({ jsonSchema }) => void (io === 'output' && delete jsonSchema.additionalProperties),
  });
  return rest;
};

/** For example `pedigree.document.concluded.v1` becomes `DocumentConcluded`. */
const nameOf = (type: OutcomeType): string =>
  type
    .split('.')
    .slice(1, -1)
    .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join('');

const component = (name: string) => ({ $ref: `#/components/messages/${name}` });

const channels = {
  commands: {
    address: NAMES.commands,
    title: 'Commands',
    description:
      'From the ERP. A durable quorum queue on the default exchange, declared by Pedigree. Publish persistent and ' +
      'with confirms: what the broker has confirmed is carried out, or refused: that is told as ' +
      `pedigree.command.refused.v1, and the message lies in ${NAMES.dead} with the reason. The same command_id ` +
      'again is a no-op. Give each message a message_id of its own, and keep it when you publish it again: one ' +
      'message_id with one content counts as one message. Set user_id to the user that you connect as: the ' +
      'broker checks it, and the log keeps it; resume_group is not taken without.',
    messages: { Command: component('Command'), StockPart: component('StockPart') },
    bindings: {
      amqp: {
        is: 'queue',
        queue: { name: NAMES.commands, durable: true, exclusive: false, autoDelete: false, vhost: '/' },
      },
    },
  },
  outcomes: {
    address: '{topic}',
    title: 'Outcomes',
    description:
      'To the ERP. A durable topic exchange: bind a durable queue of your own, for example by `document.#` and ' +
      '`command.#`. At least once: take an id once. Events of one subject come in their order; `sequence` tells ' +
      'it.',
    parameters: {
      topic: { description: 'Routing key.', enum: [...new Set(TYPES.flatMap((type) => OUTCOME_TOPICS[type]))] },
    },
    messages: Object.fromEntries(TYPES.map((type) => [nameOf(type), component(nameOf(type))])),
    bindings: {
      amqp: {
        is: 'routingKey',
        exchange: { name: NAMES.outcomes, type: 'topic', durable: true, autoDelete: false, vhost: '/' },
      },
    },
  },
};

const messages = {
  Command: {
    name: 'Command',
    title: 'A command',
    summary: 'The same body as POST /v1/commands takes.',
    contentType: 'application/json',
    payload: schemaOf(commandBody, 'input'),
    bindings: { amqp: { contentEncoding: 'utf-8', messageType: 'Command' } },
  },
  StockPart: {
    name: 'StockPart',
    title: 'A part of a stock file',
    summary: 'Parts come in any order, and one twice changes nothing. The last one hands the file to the reconciler.',
    description:
      'When the file is whole, and its digest right, you are told pedigree.stock.uploaded.v1. A part that is refused ' +
      'is told as pedigree.command.refused.v1.',
    contentType: 'application/json',
    payload: schemaOf(stockPartBody, 'input'),
    bindings: { amqp: { contentEncoding: 'utf-8', messageType: 'StockPart' } },
  },
  ...Object.fromEntries(
    TYPES.map((type) => [
      nameOf(type),
      {
        name: type,
        title: type,
        summary: OUTCOME_DATA[type].description,
        description: `Routing keys: ${OUTCOME_TOPICS[type].join(', ')}.`,
        contentType: CLOUD_EVENT_TYPE,
        payload: schemaOf(cloudEventOf(type), 'output'),
      },
    ]),
  ),
};

/**
 * The bus as AsyncAPI 3, from the very schemas that check commands and write outcomes. docs/asyncapi.yaml is this,
 * written down.
 */
export function asyncApiDocument(): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Pedigree: commands in, outcomes out',
      version: '1.0.0',
      description:
        'What an ERP exchanges with Pedigree over RabbitMQ. Outcomes are CloudEvents 1.0 in structured mode; the ' +
        'feed (GET /v1/outcomes) and the webhooks carry the same bytes.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      rabbitmq: {
        host: 'rabbitmq:5672',
        protocol: 'amqp',
        protocolVersion: '0-9-1',
        description: 'The broker of AMQP_URL.',
      },
    },
    channels,
    operations: {
      takeCommand: {
        action: 'receive',
        channel: { $ref: '#/channels/commands' },
        summary: 'Pedigree takes a command, or a part of a stock file.',
      },
      tellOutcome: {
        action: 'send',
        channel: { $ref: '#/channels/outcomes' },
        summary: 'Pedigree tells what became of a command.',
      },
    },
    components: { messages },
  };
}
