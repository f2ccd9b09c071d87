import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { GroupCommand, GroupEvent, GroupState } from '#domain';
import type { Cause } from '../noun/noun-repository.js';
import { GroupRepository } from './group-repository.js';

/**
 * A command to one group, carried by the CommandBus. Answers with the events that followed and the state they led to.
 */
export class DecideGroup {
  constructor(
    readonly groupId: string,
    readonly command: GroupCommand,
    readonly cause: Cause,
  ) {}
}

export interface GroupDecided {
  events: GroupEvent[];
  state: GroupState;
}

@CommandHandler(DecideGroup)
export class DecideGroupHandler implements ICommandHandler<DecideGroup, GroupDecided> {
  constructor(@Inject(GroupRepository) private readonly groups: GroupRepository) {}

  execute({ groupId, command, cause }: DecideGroup): Promise<GroupDecided> {
    return this.groups.execute(groupId, command, cause);
  }
}
