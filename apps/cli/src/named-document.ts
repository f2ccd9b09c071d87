import { isUuid, PedigreeError } from '#kernel';
import type { DocumentSummary } from '#read-models';
import type { GatewayClient } from './gateway-client.js';

/** More documents under one reference are not named one by one. */
const MOST_NAMED = 20;

/**
 * The request_id of the document, or group, that a person names: by request_id, by the ERP's command id, or by the
 * ERP's reference. A reference that several documents share is refused with their list. Throws PedigreeError
 * `not_found`, `invalid_parameter`.
 */
export async function requestIdOfNamed(
  gateway: GatewayClient,
  named: string,
  noun: 'document' | 'group' = 'document',
): Promise<string> {
  if (isUuid(named) && (await isKnown(gateway, named))) return named.toLowerCase();
  const ofCommand = await orAbsent(gateway.get<{ requestId: string }>(`/v1/commands/${encodeURIComponent(named)}`));
  if (ofCommand !== undefined) return ofCommand.requestId;
  const found = (await listed(gateway, 'command_id', named)) ?? (await listed(gateway, 'reference', named)) ?? [];
  const [only, ...others] = found;
  if (only === undefined) throw unknown(named, noun);
  if (others.length > 0)
    throw ambiguous(
      named,
      found.map(
        (one) =>
          `${one.requestId}  ${one.outcome ?? one.phase}  registered ${one.registeredAt}  command ${one.commandId}`,
      ),
    );
  return only.requestId;
}

const unknown = (named: string, noun: 'document' | 'group'): PedigreeError =>
  new PedigreeError('not_found', `no ${noun} has the request_id, command id or reference ${named}`, { item: named });
export const unknownDocument = (named: string): PedigreeError => unknown(named, 'document');

/** The refusal of a reference that several documents share. */
export function ambiguous(named: string, candidates: string[]): PedigreeError {
  const shown = candidates.slice(0, MOST_NAMED);
  const more = candidates.length > MOST_NAMED ? `\n  and more: pedigree documents --reference ${named}` : '';
  return new PedigreeError(
    'invalid_parameter',
    `several documents have the reference ${named}; name one by its request_id:\n  ${shown.join('\n  ')}${more}`,
    { item: named },
  );
}

async function isKnown(gateway: GatewayClient, id: string): Promise<boolean> {
  for (const noun of ['documents', 'groups'])
    if ((await orAbsent(gateway.raw(`/v1/${noun}/${id}`))) !== undefined) return true;
  return false;
}

async function listed(
  gateway: GatewayClient,
  by: 'command_id' | 'reference',
  named: string,
): Promise<DocumentSummary[] | undefined> {
  const page = await orAbsent(
    gateway.get<{ items: DocumentSummary[] }>(
      `/v1/documents?${by}=${encodeURIComponent(named)}&limit=${MOST_NAMED + 1}`,
    ),
  );
  return page === undefined || page.items.length === 0 ? undefined : page.items;
}

/** What cannot be an id of this kind is one that nobody has. */
async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof PedigreeError && (error.code === 'not_found' || error.code === 'invalid_parameter'))
      return undefined;
    throw error;
  });
}
