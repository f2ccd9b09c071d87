import {
  decideGroup,
  evolveGroup,
  NO_GROUP,
  type DocumentOutcome,
  type DocumentReference,
  type FirstCommand,
  type GroupCommand,
  type GroupEvent,
  type GroupKind,
  type GroupState,
  type Registration,
} from '#domain';
import { defined, uuid5 } from '#kernel';
import { DIGEST, documentIdOf, NAMESPACE, type DocumentOfTest, type LogOfTest } from './fixture.js';

export interface GivenGroup {
  kind?: GroupKind;
  reference?: string;
  after?: DocumentReference[];
  resumes?: { groupId: string; commandId: string };
  firstCommand?: FirstCommand;
  /** What each member of a resumption stands for. */
  inPlaceOf?: Pick<Registration, 'supersedes' | 'firstCommand'>[];
}

/**
 * A group in a log of a test: its events are those of the domain itself, interleaved with its members' as the worker
 * has them.
 */
export class GroupOfTest {
  readonly commandId: string;
  readonly groupId: string;
  readonly members: Registration[];
  private state: GroupState = NO_GROUP;

  constructor(
    private readonly log: LogOfTest,
    private readonly documents: DocumentOfTest[],
    { kind = 'given', reference, after = [], resumes, firstCommand, inPlaceOf = [] }: GivenGroup = {},
  ) {
    const given = documents.map((of) => log.registration(of));
    this.commandId = `group-of-${String(given[0]?.commandId)}`;
    this.groupId = uuid5(this.commandId, NAMESPACE);
    const { groupId, commandId } = this;
    // Parts of one document have its command and no other.
    const ofWhole = kind === 'split' ? { commandId, ...defined({ reference }) } : {};
    this.members = given.map((member, index) => ({
      ...member,
      ...ofWhole,
      ...inPlaceOf[index],
      group: { groupId, index, of: given.length, kind },
    }));
    const itemCount = given.reduce((sum, one) => sum + one.itemCount, 0);
    const original = {
      documentSha256: log.evidence.keep(Buffer.from(commandId)),
      byteLength: 1_000_000,
      docType: given[0]?.docType ?? 0,
      itemCount,
    };
    this.do({
      type: 'Register',
      registration: {
        groupId,
        commandId,
        account: 'main',
        kind,
        members: this.members,
        after,
        ...defined({ reference }),
        ...(kind === 'split' ? { original } : {}),
        ...defined({ resumes, firstCommand }),
      },
    });
    for (const member of this.members) log.add(member.requestId, { type: 'DocumentRegistered', data: member });
  }

  do(command: GroupCommand): GroupEvent[] {
    const events = decideGroup(this.state, command);
    this.state = events.reduce(evolveGroup, this.state);
    for (const event of events) this.log.addToGroup(this.groupId, event);
    return events;
  }

  /** Every member is sent, the group checked and started. */
  start(): this {
    for (const [i, { requestId }] of this.members.entries()) {
      this.log.sent(requestId, this.documents[i] as DocumentOfTest);
      this.do({ type: 'NoteMemberSent', requestId, documentId: documentIdOf(requestId) });
    }
    this.do({ type: 'RecordCheck', answer: { canStart: true }, answerSha256: DIGEST });
    this.do({ type: 'BeginStart' });
    this.do({ type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'started', answerSha256: DIGEST } });
    return this;
  }

  /** A member ends as its document says, or otherwise after all. */
  end(index: number, of: Partial<DocumentOfTest> = {}, revises?: DocumentOutcome): void {
    const { requestId } = this.members[index] as Registration;
    const whole = { ...(this.documents[index] as DocumentOfTest), ...of };
    this.log.conclude(requestId, whole, revises);
    const { outcome = 'accepted', cause } = whole;
    this.do({
      type: 'NoteMemberConcluded',
      requestId,
      outcome,
      ...(outcome === 'failed' ? { cause: cause ?? 'registry_failed' } : {}),
      partialStops: false,
    });
  }
}
