import { status, type ServerDuplexStream } from '@grpc/grpc-js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { nameOf, refusal } from './messages.js';
import type { FakeAppended, FakeExpectation, FakeLog, FakeProposal } from './log.js';
import { callRefusal, notHandled, type NodeState } from './node-state.js';

export type BatchAppendDuplex = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;
type Options = InstanceType<typeof streams.BatchAppendReq.Options>;

interface Pending {
  options: Options;
  proposals: FakeProposal[];
}

/**
 * One call of BatchAppend. Appends come in parts and count when their last part has come; what breaks off before leaves
 * nothing. Answers come in another order than the appends: those of one turn backwards, and name their append in either
 * form of a UUID. The one deadline is a time of day, held against the server's clock.
 */
export class BatchAppendCall {
  private readonly pending = new Map<string, Pending>();
  private answers: BatchAppendResp[] = [];
  private answered = 0;

  constructor(
    private readonly log: FakeLog,
    private readonly state: NodeState,
    private readonly call: BatchAppendDuplex,
  ) {
    const refused = callRefusal(call, state);
    call.on('error', () => undefined);
    call.on('end', () => call.end());
    if (refused === undefined) call.on('data', (request) => this.received(request));
    else call.emit('error', refused);
  }

  private received(request: BatchAppendReq): void {
    const id = request.getCorrelationId()?.getString() ?? '';
    const options = request.getOptions();
    if (options !== undefined) {
      if (this.isLate(options)) return this.answer(request, errorOf('Timeout', new shared.Timeout()));
      this.pending.set(id, { options, proposals: [] });
    }
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    pending.proposals.push(...request.getProposedMessagesList().map(proposalOf));
    const bytes = pending.proposals.reduce((sum, one) => sum + one.data.length + one.metadata.length, 0);
    if (bytes > this.state.maxAppendBytes) {
      this.pending.delete(id);
      return this.answer(
        request,
        errorOf(
          'MaximumAppendSizeExceeded',
          new shared.MaximumAppendSizeExceeded().setMaxappendsize(this.state.maxAppendBytes),
        ),
      );
    }
    if (!request.getIsFinal()) return;
    this.pending.delete(id);
    this.complete(request, pending);
  }

  private complete(request: BatchAppendReq, { options, proposals }: Pending): void {
    const { faults } = this.state;
    const unhandled = notHandled(this.call.metadata, this.state);
    if (unhandled !== undefined)
      return this.answer(
        request,
        new streams.BatchAppendResp().setError(
          new statusMessages.Status()
            .setMessage(unhandled)
            .setDetails(packed('google.protobuf.Empty', new Uint8Array())),
        ),
      );
    const result = this.log.append(nameOf(options.getStreamIdentifier()), expectationOf(options), proposals);
    if (faults.callsToEnd > 0) {
      faults.callsToEnd -= 1;
      this.call.end();
    } else if (faults.answersToLose > 0) {
      faults.answersToLose -= 1;
      this.call.emit('error', refusal(status.UNAVAILABLE, 'the answer was lost'));
    } else if (faults.answersToHold > 0) faults.answersToHold -= 1;
    else this.answer(request, answerOf(result, options));
  }

  private isLate(options: Options): boolean {
    const deadline = options.getDeadline();
    return deadline !== undefined && deadline.toDate() <= this.state.now();
  }

  private answer(request: BatchAppendReq, response: BatchAppendResp): void {
    const id = request.getCorrelationId();
    this.answered += 1;
    this.answers.push(response.setCorrelationId(this.answered % 2 === 0 ? id : structured(id?.getString() ?? '')));
    if (this.answers.length === 1) setImmediate(() => this.flush());
  }

  private flush(): void {
    const answers = this.answers.reverse();
    this.answers = [];
    if (this.call.cancelled) return;
    for (const one of answers) this.call.write(one);
  }
}

function expectationOf(options: Options): FakeExpectation {
  if (options.hasNoStream()) return 'none';
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'exists' : Number(options.getStreamPosition());
}

function proposalOf(message: InstanceType<typeof streams.BatchAppendReq.ProposedMessage>): FakeProposal {
  const metadata = message.getMetadataMap();
  return {
    id: (message.getId()?.getString() ?? '').toLowerCase(),
    type: metadata.get('type') ?? '',
    isJson: metadata.get('content-type') === 'application/json',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

function answerOf(result: FakeAppended, options: Options): BatchAppendResp {
  if (result.kind === 'done') {
    const position = new shared.AllStreamPosition()
      .setCommitPosition(String(result.position))
      .setPreparePosition(String(result.position));
    return new streams.BatchAppendResp().setSuccess(
      new streams.BatchAppendResp.Success().setCurrentRevision(String(result.revision)).setPosition(position),
    );
  }
  const wrong = new shared.WrongExpectedVersion();
  if (result.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentStreamRevision(String(result.current));
  if (options.hasStreamPosition()) wrong.setExpectedStreamPosition(options.getStreamPosition());
  else wrong.setExpectedNoStream(new shared.Empty());
  return errorOf('WrongExpectedVersion', wrong);
}

function errorOf(kind: string, details: { serializeBinary(): Uint8Array }): BatchAppendResp {
  return new streams.BatchAppendResp().setError(
    new statusMessages.Status()
      .setMessage(kind)
      .setDetails(packed(`event_store.client.${kind}`, details.serializeBinary())),
  );
}

function packed(type: string, bytes: Uint8Array): InstanceType<typeof any.Any> {
  const details = new any.Any();
  details.pack(bytes, type);
  return details;
}

/** A UUID as two whole numbers of 64 bits. */
function structured(id: string): InstanceType<typeof shared.UUID> {
  const hex = id.replaceAll('-', '');
  const half = (from: number): string => String(BigInt.asIntN(64, BigInt(`0x${hex.slice(from, from + 16)}`)));
  return new shared.UUID().setStructured(
    new shared.UUID.Structured().setMostSignificantBits(half(0)).setLeastSignificantBits(half(16)),
  );
}
