import {
  CONTAINER_SAGA,
  DOCUMENT_SAGA,
  INBOUND_SAGA,
  keysOfDocumentEvent,
  reactToContainerEvent,
  reactToDocumentEvent,
  reactToInboundEvent,
  type DocumentRules,
} from '#domain';
import { retryParked, runSaga, type RetryParts, type SagaOptions } from '#subscriptions';
import type { TaskResult } from '#tasks';
import { checkedLane, type Lane, type TaskOf } from './lane.js';

/** Work for whoever runs sagas: what is parked is tried again there, and nowhere else. */
const SAGA_LANE = 'saga';

type SagaRunning = Omit<SagaOptions<never>, 'saga'>;

/** A saga with the state that only it knows. */
interface RunnableSaga {
  name: string;
  run(options: SagaRunning): Promise<void>;
  retry(parts: Omit<RetryParts<never>, 'saga'>, key: string): ReturnType<typeof retryParked>;
}

/**
 * The sagas of the worker, by the registry's times. `seeksContents`: whether contents of the containers that an
 * incoming document of a type names are asked for.
 */
export function sagasBy(rules: DocumentRules & { seeksContents?: (docType: number) => boolean }): RunnableSaga[] {
  const documents = { ...DOCUMENT_SAGA, keysOf: keysOfDocumentEvent, react: reactToDocumentEvent(rules) };
  const inbound = { ...INBOUND_SAGA, react: reactToInboundEvent(rules) };
  const containers = { ...CONTAINER_SAGA, react: reactToContainerEvent };
  return [
    {
      name: documents.name,
      run: (options) => runSaga({ ...options, saga: documents }),
      retry: (parts, key) => retryParked({ ...parts, saga: documents }, key),
    },
    {
      name: inbound.name,
      run: (options) => runSaga({ ...options, saga: inbound }),
      retry: (parts, key) => retryParked({ ...parts, saga: inbound }, key),
    },
    {
      name: containers.name,
      run: (options) => runSaga({ ...options, saga: containers }),
      retry: (parts, key) => retryParked({ ...parts, saga: containers }, key),
    },
  ];
}

/** The lane in which an operator's wish to have a parked instance tried again is done. */
export function sagaLane(sagas: RunnableSaga[], parts: Omit<RetryParts<never>, 'saga'>): Lane {
  const retry = async ({ payload: { saga: name, key } }: TaskOf<'retry_parked'>): Promise<TaskResult> => {
    const saga = sagas.find((one) => one.name === name);
    if (saga === undefined) return { kind: 'failed', error: `no saga is called ${name}` };
    // Whether it goes on or stands again: the list of what is parked tells, with the newest error.
    await saga.retry(parts, key);
    return { kind: 'done' };
  };
  return checkedLane({ name: SAGA_LANE, kinds: { retry_parked: { handle: retry } }, concurrency: 1 });
}
