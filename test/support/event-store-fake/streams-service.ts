import { status, type ServerWritableStream, type UntypedServiceImplementation } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { BatchAppendCall, type BatchAppendDuplex } from './batch-append.js';
import { notServed, type NodeState } from './node-state.js';
import { eventMessage, identifierOf, matcherOf, nameOf, refusal } from './messages.js';
import type { FakeLog, FakeRecord } from './log.js';
import { Subscription } from './subscription.js';

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;
type Options = InstanceType<typeof streams.ReadReq.Options>;

/** The service Streams of the fake: BatchAppend and Read. The plain Append is refused: nothing of ours calls it. */
export function streamsService(log: FakeLog, state: NodeState): UntypedServiceImplementation {
  return {
    read: (call: ReadCall) => read(log, state, call),
    batchAppend: (call: BatchAppendDuplex) => new BatchAppendCall(log, state, call),
    append: (call: { emit(name: 'error', error: object): void }) =>
      call.emit('error', refusal(status.UNIMPLEMENTED, 'the fake has no plain Append')),
  } as unknown as UntypedServiceImplementation;
}

const commitOf = (options: Options): string | undefined => options.getAll()?.getPosition()?.getCommitPosition();

function read(log: FakeLog, state: NodeState, call: ReadCall): void {
  const options = call.request.getOptions() as Options;
  const refused = notServed(call, state);
  if (refused !== undefined) return void call.emit('error', refused);
  const all = options.getAll();
  const commit = commitOf(options);
  if (commit !== undefined && !log.isBoundary(BigInt(commit))) {
    call.emit('error', refusal(status.UNKNOWN, `Unexpected ReadAllResult: InvalidPosition (${commit})`));
    return;
  }
  if (options.hasSubscription()) {
    new Subscription(log, { call, options }).start();
    return;
  }
  if (state.faults.readsToHold > 0) {
    state.faults.readsToHold -= 1;
    return;
  }
  const name = nameOf(options.getStream()?.getStreamIdentifier());
  const lags = state.leaderPort !== undefined;
  if (all === undefined && (lags || log.stream(name).length === 0)) return endMissing(call, name);
  const records = lags ? [] : all === undefined ? ofStream(log, name, options) : ofAll(log, options);
  const matches = matcherOf(options.getFilter());
  void writeAll(call, records.filter(matches).slice(0, Number(options.getCount())));
}

function endMissing(call: ReadCall, name: string): void {
  const missing = new streams.ReadResp.StreamNotFound();
  missing.setStreamIdentifier(identifierOf(name));
  const response = new streams.ReadResp();
  response.setStreamNotFound(missing);
  call.write(response);
  call.end();
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
  const commit = commitOf(options);
  const at = commit === undefined ? undefined : log.indexAt(BigInt(commit));
  const count = Number(options.getCount());
  const most = options.hasFilter() ? log.records.length : count;
  if (options.getReadDirection() === FORWARDS) return all?.hasEnd() ? [] : log.records.slice(at ?? 0, (at ?? 0) + most);
  const end = all?.hasStart() ? 0 : (at ?? log.records.length);
  return log.records.slice(Math.max(0, end - most), end).reverse();
}
