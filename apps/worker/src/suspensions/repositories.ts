import {
  decideSuspendedList,
  decideSuspension,
  evolveSuspendedList,
  evolveSuspension,
  NO_LIST,
  NO_SUSPENSION,
  suspensionStream,
  type SuspendedListCommand,
  type SuspendedListEvent,
  type SuspendedListState,
  type SuspensionCommand,
  type SuspensionEvent,
  type SuspensionState,
} from '#domain';
import { AggregateRepository, type RepositoryOptions } from '../aggregate/aggregate-repository.js';

/** Suspensions, one stream each. */
export class SuspensionRepository extends AggregateRepository<SuspensionState, SuspensionCommand, SuspensionEvent> {
  constructor(options: RepositoryOptions) {
    super(
      {
        ...{ name: 'suspension', streamOf: suspensionStream, initial: NO_SUSPENSION },
        ...{ decide: decideSuspension, evolve: evolveSuspension },
        begins: ({ type }) => type === 'List' || type === 'Enter',
        isOver: ({ phase }) => phase !== 'absent',
      },
      options,
    );
  }
}

/** The registry's list of suspended packs: one stream, named by itself. */
export class SuspendedListRepository extends AggregateRepository<
  SuspendedListState,
  SuspendedListCommand,
  SuspendedListEvent
> {
  constructor(options: RepositoryOptions) {
    super(
      {
        ...{ name: 'suspended list', streamOf: (id) => id, initial: NO_LIST },
        ...{ decide: decideSuspendedList, evolve: evolveSuspendedList },
        ...{ begins: () => false, isOver: () => false },
      },
      options,
    );
  }
}
