import { CONFIGURATION_STREAM } from '#configuration';
import { typeKnowledge } from '#documents';
import { accountStream, caseStream, documentStream, groupStream, inboundStream, suspensionStream } from '#domain';
import type { EventStore } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import type { Pool } from '#postgres';
import { packReadFrom } from '#read-models';
import { runStream } from '#reconciliation';
import { historyParameters, parameters } from '../api/parameters.js';

export interface LogAndTables {
  pool: Pool;
  store: EventStore;
}

/** An answer as it is sent, and what was asked for beside the path. */
interface Answered extends LogAndTables {
  query: unknown;
  body: Record<string, unknown>;
}

/** An answer that can be proven. */
export interface Provable {
  /** Read models that the answer is made from; what stands here is read from the log alone. */
  models: string[];
  /** The streams that it is made from, that of its subject first. */
  streams: (answered: Answered) => Promise<string[]> | string[];
  /** Where it is made from one event of its stream alone: the version of it. */
  only?: (body: Record<string, unknown>) => number;
}

/** By the route as the API has it. */
export const PROVABLE: Readonly<Record<string, Provable>> = {
  '/v1/documents/:requestId': { models: ['inbound-documents'], streams: ofDocument },
  '/v1/groups/:groupId': { models: ['document-outcomes'], streams: ofGroup },
  '/v1/inbound/:documentId': { models: [], streams: ({ body }) => [inboundStream(textIn(body, 'document_id'))] },
  '/v1/packs/:sgtin': { models: ['sgtin-history'], streams: ofPack },
  '/v1/packs/:sgtin/history': { models: ['sgtin-history'], streams: ofPack },
  '/v1/cases/:caseId': { models: [], streams: ({ body }) => [caseStream(textIn(body, 'case_id'))] },
  '/v1/reconciliations/:runId': { models: [], streams: ({ body }) => [runStream(textIn(body, 'id'))] },
  '/v1/suspensions/:suspensionId': {
    models: ['sgtin-history'],
    streams: ({ body }) => [suspensionStream(textIn(body, 'suspension_id'))],
  },
  // The stream of a day has whatever anybody was given on it: one entry is proven without the others.
  '/v1/access-log/:position': {
    models: [],
    streams: ({ body }) => [textIn(body, 'stream')],
    only: ({ version }) => Number(version),
  },
  '/v1/operations/configuration': { models: [], streams: () => [CONFIGURATION_STREAM] },
};

/** A pause of the account keeps a document only before its end; what others told of it comes from their documents. */
function ofDocument({ body }: Answered): string[] {
  const { phase } = body;
  const isOpen = phase !== 'concluded' && phase !== 'acknowledged';
  return [
    documentStream(textIn(body, 'request_id')),
    ...(isOpen ? [accountStream(textIn(body, 'account'))] : []),
    ...listIn(body, 'notifications').map((one) => inboundStream(textIn(one, 'document_id'))),
  ];
}

function ofGroup({ body }: Answered): string[] {
  const members = listIn(body, 'members').map((one) => documentStream(textIn(one, 'request_id')));
  return [groupStream(textIn(body, 'group_id')), ...members];
}

/** A longer life is asked for in parts: until a moment, or as it was known at one. */
const MOST_POSITIONS = 10_000;

/** Each movement is known by an event of its document: the streams of all documents that the life was read from. */
async function ofPack({ pool, store, query, body }: Answered): Promise<string[]> {
  const { as_of: asOf, known_at: knownAt } = parameters(historyParameters, query);
  const asked = { ...defined({ asOf, knownAt }), types: typeKnowledge };
  const positions = await packReadFrom(pool, textIn(body, 'sgtin'), asked);
  if (positions.length > MOST_POSITIONS)
    throw new PedigreeError(
      'too_many_items',
      `proof: the answer is made from ${positions.length} movements, and a proof has at most ${MOST_POSITIONS}; ` +
        'ask as of an earlier moment',
      { field: 'proof' },
    );
  const streams = new Set<string>();
  for (const position of positions.sort((a, b) => Number(a - b))) streams.add(await streamAt(store, position));
  return [...streams];
}

async function streamAt(store: EventStore, position: bigint): Promise<string> {
  const event = await store.eventAt(position);
  if (event === undefined) throw new Error(`no event is at position ${position}, where a movement was known`);
  return event.stream;
}

function textIn(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (typeof value !== 'string') throw new Error(`the answer has no ${name}`);
  return value;
}

const listIn = (body: Record<string, unknown>, name: string): Record<string, unknown>[] =>
  Array.isArray(body[name]) ? (body[name] as Record<string, unknown>[]) : [];
