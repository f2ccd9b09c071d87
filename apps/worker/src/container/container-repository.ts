import {
  containerStream,
  decideContainer,
  evolveContainer,
  NEVER_ASKED,
  type ContainerCommand,
  type ContainerEvent,
  type ContainerState,
} from '#domain';
import { AggregateRepository, type Aggregate, type RepositoryOptions } from '../aggregate/aggregate-repository.js';

const CONTAINER: Aggregate<ContainerState, ContainerCommand, ContainerEvent> = {
  name: 'container',
  streamOf: containerStream,
  initial: NEVER_ASKED,
  decide: decideContainer,
  begins: (command) => command.type === 'AskContent',
  evolve: evolveContainer,
  isOver: (state) => state.phase !== 'asked',
};

/** Containers of which the registry was asked what lies in them, one stream each, named by the SSCC. */
export class ContainerRepository extends AggregateRepository<ContainerState, ContainerCommand, ContainerEvent> {
  constructor(options: RepositoryOptions) {
    super(CONTAINER, options);
  }
}
