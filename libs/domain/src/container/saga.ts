import { neverReached } from '#kernel';
import type { PlannedTask } from '../task/task.js';
import { eventIn, type SagaEvent as AnySagaEvent } from '../saga/saga-event.js';
import { CONTAINER_STREAM_PREFIX, ssccOfStream, type ContainerEvent } from './events.js';

type SagaEvent = Omit<AnySagaEvent, 'version' | 'position'>;

/** Nothing is remembered between events: the aggregate knows whether a question is open. */
type ContainerSagaState = Record<string, never>;

export const CONTAINER_SAGA = {
  name: 'container',
  filter: { streamPrefixes: [CONTAINER_STREAM_PREFIX] },
  initial: {} as ContainerSagaState,
  keysOf: (event: Pick<SagaEvent, 'stream'>): string[] => [ssccOfStream(event.stream)],
  isDone: (): boolean => true,
};

/** After all that is about documents under way, before what reconciliation reads. */
const LOW_PRIORITY = 800;

/** What follows from one event: whoever asks has the registry asked, once for each arrival. */
export function reactToContainerEvent(
  state: ContainerSagaState,
  recorded: SagaEvent,
): { state: ContainerSagaState; tasks: PlannedTask<'container_content'>[] } {
  const event = eventIn<ContainerEvent>(recorded);
  switch (event.type) {
    case 'ContainerContentAsked': {
      const { sscc, account, arrival } = event.data;
      const { documentId } = arrival;
      const payload = { sscc, account, documentId };
      const task = {
        key: `container_content:${sscc}:${documentId}`,
        kind: 'container_content' as const,
        lane: `${account}/sscc_full_hierarchy`,
        priority: LOW_PRIORITY,
        dueAt: recorded.handledAt,
        payload,
      };
      return { state, tasks: [task] };
    }
    case 'ContainerContentWithheld':
    case 'ContainerContentObserved':
    case 'ContainerContentUnavailable':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'container event');
  }
}
