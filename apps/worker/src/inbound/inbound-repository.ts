import {
  decideInbound,
  evolveInbound,
  INBOUND_ABSENT,
  inboundStream,
  type InboundCommand,
  type InboundEvent,
  type InboundState,
} from '#domain';
import { AggregateRepository, type Aggregate, type RepositoryOptions } from '../aggregate/aggregate-repository.js';

const INBOUND: Aggregate<InboundState, InboundCommand, InboundEvent> = {
  name: 'inbound',
  streamOf: inboundStream,
  initial: INBOUND_ABSENT,
  decide: decideInbound,
  begins: (command) => command.type === 'See',
  evolve: evolveInbound,
  isOver: (state) => state.phase === 'concluded' || state.phase === 'ours',
};

/** Documents of others, one stream each, named by the registry's id. */
export class InboundRepository extends AggregateRepository<InboundState, InboundCommand, InboundEvent> {
  constructor(options: RepositoryOptions) {
    super(INBOUND, options);
  }
}
