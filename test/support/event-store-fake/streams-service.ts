import { status, type Metadata, type ServiceError, type sendUnaryData, type ServerReadableStream, type ServerWritableStream, type UntypedServiceImplementation } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendReq, AppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { eventMessage, identifierOf, matcherOf, nameOf, refusal } from './messages.js';
import type { FakeAppended, FakeExpectation, FakeLog, FakeProposal, FakeRecord } from './log.js';
import { Subscription } from './subscription.js';

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;
type Options = InstanceType<typeof streams.ReadReq.Options>;

export interface StreamsServiceOptions {
  maxAppendBytes: number;
  faults: { answersToLose: number; callsInElection: number; readsToHold: number };
  /** Of a follower: where its leader is. */
  leaderPort: number | undefined;
}

/** Why a call for the leader is not served here, as the real server says it; undefined when it is. */
function notServed({ metadata }: { metadata: Metadata }, { faults, leaderPort }: StreamsServiceOptions): Partial<ServiceError> | undefined {
  if (metadata.get('requires-leader')[0] !== 'true') return undefined;
  if (faults.callsInElection > 0) {
    faults.callsInElection -= 1;
    return refusal(status.UNKNOWN, 'No leader info available in response');
  }
  if (leaderPort === undefined) return undefined;
  return refusal(status.NOT_FOUND, 'Leader info available', { exception: 'not-leader', 'leader-endpoint-host': '127.0.0.1', 'leader-endpoint-port': String(leaderPort) });
}

/** The service Streams of the fake: Append and Read. BatchAppend is offered, as by any server of today, and refused: whoever calls it learns that. */
export function streamsService(log: FakeLog, options: StreamsServiceOptions): UntypedServiceImplementation {
  return {
    append: (call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>) => append(log, options, { call, answer }),
    read: (call: ReadCall) => read(log, options, call),
    batchAppend: (call: { emit(name: 'error', error: object): void }) => call.emit('error', refusal(status.UNIMPLEMENTED, 'the fake has no BatchAppend')),
  } as unknown as UntypedServiceImplementation;
}

function expectationOf(options: InstanceType<typeof streams.AppendReq.Options>): FakeExpectation {
  if (options.hasNoStream()) return 'none';
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'exists' : Number(options.getRevision());
}

function proposalOf(message: InstanceType<typeof streams.AppendReq.ProposedMessage>): FakeProposal {
  const metadata = message.getMetadataMap();
  return {
    id: (message.getId()?.getString() ?? '').toLowerCase(),
    type: metadata.get('type') ?? '',
    isJson: metadata.get('content-type') === 'application/json',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

function append(log: FakeLog, options: StreamsServiceOptions, { call, answer }: { call: ServerReadableStream<AppendReq, AppendResp>; answer: sendUnaryData<AppendResp> }): void {
  let header: InstanceType<typeof streams.AppendReq.Options> | undefined;
  const proposals: FakeProposal[] = [];
  const { maxAppendBytes, faults } = options;
  call.on('data', (request: AppendReq) => {
    const proposed = request.getProposedMessage();
    if (proposed === undefined) header = request.getOptions();
    else proposals.push(proposalOf(proposed));
  });
  call.on('error', () => undefined);
  const commit = (): void => {
    if (call.cancelled) return;
    if (header === undefined) return answer(refusal(status.INVALID_ARGUMENT, 'no options came'));
    const bytes = proposals.reduce((sum, one) => sum + one.data.length + one.metadata.length, 0);
    if (bytes > maxAppendBytes) return answer(refusal(status.INVALID_ARGUMENT, `Maximum Append Size of ${maxAppendBytes} Exceeded.`, { exception: 'maximum-append-size-exceeded', 'maximum-append-size': String(maxAppendBytes) }));
    const refused = notServed(call, options);
    if (refused !== undefined) return answer(refused);
    const expected = expectationOf(header);
    const result = log.append(nameOf(header.getStreamIdentifier()), expected, proposals);
    if (faults.answersToLose > 0) {
      faults.answersToLose -= 1;
      return answer(refusal(status.UNAVAILABLE, 'the answer was lost'));
    }
    answer(null, appendResponse(expected, result));
  };
  // A connection that breaks between the events of an append ends the call as well, and only then cancels it: no server takes a part for the whole.
  call.on('end', () => setImmediate(commit));
}

function appendResponse(expected: FakeExpectation, result: FakeAppended): AppendResp {
  const response = new streams.AppendResp();
  if (result.kind === 'done') {
    const success = new streams.AppendResp.Success();
    success.setCurrentRevision(String(result.revision));
    const position = new streams.AppendResp.Position();
    position.setCommitPosition(String(result.position));
    position.setPreparePosition(String(result.position));
    success.setPosition(position);
    response.setSuccess(success);
    return response;
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (result.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(result.current));
  if (expected === 'none') wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedRevision(String(expected));
  response.setWrongExpectedVersion(wrong);
  return response;
}

function read(log: FakeLog, service: StreamsServiceOptions, call: ReadCall): void {
  const options = call.request.getOptions() as Options;
  const refused = notServed(call, service);
  if (refused !== undefined) return void call.emit('error', refused);
  const all = options.getAll();
  const position = all?.getPosition();
  if (position !== undefined && !log.isBoundary(BigInt(position.getCommitPosition()))) {
    call.emit('error', refusal(status.UNKNOWN, `Unexpected ReadAllResult: InvalidPosition (${position.getCommitPosition()})`));
    return;
  }
  if (options.hasSubscription()) {
    new Subscription(log, { call, options }).start();
    return;
  }
  if (service.faults.readsToHold > 0) {
    service.faults.readsToHold -= 1;
    return;
  }
  const name = nameOf(options.getStream()?.getStreamIdentifier());
  const lags = service.leaderPort !== undefined;
  if (all === undefined && (lags || log.stream(name).length === 0)) {
    const missing = new streams.ReadResp.StreamNotFound();
    missing.setStreamIdentifier(identifierOf(name));
    const response = new streams.ReadResp();
    response.setStreamNotFound(missing);
    call.write(response);
    call.end();
    return;
  }
  const records = lags ? [] : all === undefined ? ofStream(log, name, options) : ofAll(log, options);
  const matches = matcherOf(options.getFilter());
  void writeAll(call, records.filter(matches).slice(0, Number(options.getCount())));
}

/** Honours the reader's flow control: a page larger than its window waits. */
async function writeAll(call: ReadCall, records: FakeRecord[]): Promise<void> {
  for (const record of records) {
    if (call.cancelled) return;
    if (!call.write(eventMessage(record))) await new Promise((resolve) => call.once('drain', resolve));
  }
  call.end();
}

const FORWARDS = 0;

function ofStream(log: FakeLog, name: string, options: Options): FakeRecord[] {
  const there = log.stream(name);
  const stream = options.getStream();
  const from = stream?.hasRevision() ? Number(stream.getRevision()) : undefined;
  if (options.getReadDirection() === FORWARDS) return stream?.hasEnd() ? [] : there.slice(from ?? 0);
  return stream?.hasStart() ? there.slice(0, 1) : there.slice(0, from === undefined ? undefined : from + 1).reverse();
}

/** Forwards a read begins with the event at its position, backwards with the one before it. */
function ofAll(log: FakeLog, options: Options): FakeRecord[] {
  const all = options.getAll();
  const position = all?.getPosition();
  const at = position === undefined ? undefined : log.indexAt(BigInt(position.getCommitPosition()));
  const count = Number(options.getCount());
  const most = options.hasFilter() ? log.records.length : count;
  if (options.getReadDirection() === FORWARDS) return all?.hasEnd() ? [] : log.records.slice(at ?? 0, (at ?? 0) + most);
  const end = all?.hasStart() ? 0 : (at ?? log.records.length);
  return log.records.slice(Math.max(0, end - most), end).reverse();
}
