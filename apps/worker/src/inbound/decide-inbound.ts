import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { InboundCommand, InboundEvent, InboundState } from '#domain';
import type { Cause } from '../noun/noun-repository.js';
import { InboundRepository } from './inbound-repository.js';

/**
 * A command to one document of others, carried by the CommandBus. Answers with the events that followed and the state
 * they led to.
 */
export class DecideInbound {
  constructor(
    readonly documentId: string,
    readonly command: InboundCommand,
    readonly cause: Cause,
  ) {}
}

export interface InboundDecided {
  events: InboundEvent[];
  state: InboundState;
}

@CommandHandler(DecideInbound)
export class DecideInboundHandler implements ICommandHandler<DecideInbound, InboundDecided> {
  constructor(@Inject(InboundRepository) private readonly inbound: InboundRepository) {}

  execute({ documentId, command, cause }: DecideInbound): Promise<InboundDecided> {
    return this.inbound.execute(documentId, command, cause);
  }
}
