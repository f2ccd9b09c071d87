import type { ContainerContentObserved, ToldContent } from '#domain';
import { ANSWER_ABOUT_CONTAINER, type ItemEffect } from '#documents';
import type { RecordedEvent } from '#event-store';
import { defined, isSscc } from '#kernel';
import { gather, isKept, type Movements } from './movements.js';

export type ContentObservation = RecordedEvent & ContainerContentObserved;

/**
 * What the registry told of a container, as packings into it and into those within it. Pure. It says nothing of status,
 * place or owner, and what it does not name stays where it is.
 */
export function contentMovementsOf(event: ContentObservation, content: ToldContent): Movements {
  const { arrival, fetchedAt, answerSha256 } = event.data;
  const document = {
    knownFrom: event.position,
    requestId: '',
    documentId: arrival.documentId,
    channel: 'registry_answer' as const,
    docType: ANSWER_ABOUT_CONTAINER,
    outcome: 'accepted' as const,
    cause: undefined,
    subjectId: arrival.subjectId,
    counterpartyId: arrival.counterpartyId,
    operationDate: fetchedAt,
    operationAt: undefined,
    acceptedAt: undefined,
    orderedAt: rightBefore(arrival.acceptedAt ?? event.metadata.effectiveAt),
    documentSha256: answerSha256,
    receiptSha256: undefined,
    recalls: undefined,
    recordedAt: event.recordedAt,
  };
  const series = content.items.flatMap(({ id: item, series: told, expiresOn }) =>
    told === undefined && expiresOn === undefined ? [] : [{ item, ...defined({ series: told, expiresOn }) }],
  );
  return { ...gather(document, content.items.map(effectOf)), series: series.filter(isKept) };
}

const effectOf = ({ id, into, series, expiresOn: expiry }: ToldContent['items'][number]): ItemEffect => ({
  item: { kind: isSscc(id) ? 'sscc' : 'sgtin', id, into },
  result: 'applied',
  containment: { kind: 'packed', into },
  ...defined({ series, expiry }),
});

/**
 * A container is shipped whole, and whoever gets it opens it only later: what is in it was in it when it came. So the
 * content goes before the document that brought it, and the packs share all that happens to it from then on.
 */
const rightBefore = (acceptedAt: string): string => new Date(Date.parse(acceptedAt) - 1).toISOString();
