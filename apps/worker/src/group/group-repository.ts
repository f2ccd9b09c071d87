import {
  decideGroup,
  evolveGroup,
  groupStream,
  NO_GROUP,
  type GroupCommand,
  type GroupEvent,
  type GroupState,
} from '#domain';
import {
  AggregateRepository,
  type Cause,
  type Decided,
  type Aggregate,
  type RepositoryOptions,
} from '../aggregate/aggregate-repository.js';

const GROUP: Aggregate<GroupState, GroupCommand, GroupEvent> = {
  name: 'group',
  streamOf: groupStream,
  initial: NO_GROUP,
  decide: decideGroup,
  begins: (command) => command.type === 'Register',
  evolve: evolveGroup,
  isOver: (state) => state.phase === 'concluded',
};

/**
 * Groups, one stream each. All members of a group write to that one stream, many at once when a group ends: within this
 * process they take turns, so that only other processes cost a version conflict.
 */
export class GroupRepository extends AggregateRepository<GroupState, GroupCommand, GroupEvent> {
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(options: RepositoryOptions) {
    super(GROUP, options);
  }

  override execute(groupId: string, command: GroupCommand, cause: Cause): Promise<Decided<GroupState, GroupEvent>> {
    const before = this.turns.get(groupId) ?? Promise.resolve();
    const mine = before.then(() => super.execute(groupId, command, cause));
    // Whoever comes next waits for the end of this turn, not for its success.
    const over = mine.then(
      () => undefined,
      () => undefined,
    );
    this.turns.set(groupId, over);
    void over.then(() => this.turns.get(groupId) === over && this.turns.delete(groupId));
    return mine;
  }
}
