import { randomUUID } from 'node:crypto';
import {
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import type {
  CreateReq,
  CreateResp,
  DeleteReq,
  DeleteResp,
  GetInfoReq,
  GetInfoResp,
  ReadReq,
  ReadResp,
} from '@eventstore/db-client/generated/persistent_pb.js';
import { fill, matcherOf, refusal } from './messages.js';
import type { FakeLog, FakeRecord } from './log.js';

type Consumer = ServerDuplexStream<ReadReq, ReadResp>;

/** One group on $all: where it stands, what is handed out, what must come again. */
interface Group {
  name: string;
  settings: InstanceType<typeof persistent.CreateReq.Settings>;
  startFrom: string;
  matches: (record: FakeRecord) => boolean;
  next: number;
  again: FakeRecord[];
  inFlight: Map<string, { record: FakeRecord; consumer: Consumer }>;
  parked: FakeRecord[];
  consumers: { call: Consumer; free: number }[];
  acknowledged: bigint | undefined;
}

const missing = (name: string) =>
  refusal(status.NOT_FOUND, `Subscription group ${name} on stream $all does not exist.`, {
    exception: 'persistent-subscription-does-not-exist',
  });

/**
 * The service PersistentSubscriptions of the fake, for groups on $all: create, info, delete, and reading with ack and
 * nack.
 */
export function persistentService(log: FakeLog, groups: Map<string, Group>): UntypedServiceImplementation {
  const named = (name: string): Group | undefined => groups.get(name);
  return {
    create: ({ request }: ServerUnaryCall<CreateReq, CreateResp>, answer: sendUnaryData<CreateResp>) => {
      const options = request.getOptions();
      const name = options?.getGroupName() ?? '';
      if (named(name) !== undefined)
        return answer(
          refusal(status.ALREADY_EXISTS, `Subscription group ${name} on stream $all exists.`, {
            exception: 'persistent-subscription-exists',
          }),
        );
      groups.set(name, newGroup(log, request));
      answer(null, new persistent.CreateResp());
    },
    getInfo: ({ request }: ServerUnaryCall<GetInfoReq, GetInfoResp>, answer: sendUnaryData<GetInfoResp>) => {
      const name = request.getOptions()?.getGroupName() ?? '';
      const group = named(name);
      if (group === undefined) return answer(missing(name));
      const response = new persistent.GetInfoResp();
      response.setSubscriptionInfo(infoOf(log, group));
      answer(null, response);
    },
    delete: ({ request }: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>) => {
      const name = request.getOptions()?.getGroupName() ?? '';
      const group = named(name);
      if (group === undefined) return answer(missing(name));
      groups.delete(name);
      for (const { call } of group.consumers)
        call.emit(
          'error',
          refusal(status.CANCELLED, `Subscription group ${name} was dropped.`, {
            exception: 'persistent-subscription-dropped',
          }),
        );
      answer(null, new persistent.DeleteResp());
    },
    read: (call: Consumer) => consume(log, call, named),
  } as unknown as UntypedServiceImplementation;
}

/** Hands what is new to whoever waits for it. */
export function handOutAll(log: FakeLog, groups: FakeGroups): void {
  for (const group of groups.values()) handOut(log, group);
}

/** Where a new group begins: at the end, at the beginning, or at the position asked for. */
function startOf(
  log: FakeLog,
  all: InstanceType<typeof persistent.CreateReq.AllOptions> | undefined,
): Pick<Group, 'startFrom' | 'next'> {
  if (all?.hasEnd()) return { startFrom: 'C:-1/P:-1', next: log.records.length };
  const position = all?.getPosition();
  if (position === undefined) return { startFrom: 'C:0/P:0', next: 0 };
  const commit = position.getCommitPosition();
  return { startFrom: `C:${commit}/P:${position.getPreparePosition()}`, next: log.indexAt(BigInt(commit)) };
}

function newGroup(log: FakeLog, request: CreateReq): Group {
  const options = request.getOptions();
  const all = options?.getAll();
  return {
    name: options?.getGroupName() ?? '',
    settings: options?.getSettings() as Group['settings'],
    ...startOf(log, all),
    matches: matcherOf(all?.getFilter()),
    again: [],
    inFlight: new Map<string, { record: FakeRecord; consumer: Consumer }>(),
    parked: [],
    consumers: [],
    acknowledged: undefined,
  };
}

/**
 * Hands events to consumers that have room: first what must come again, which is why the order of a group is not the
 * log's.
 */
function handOut(log: FakeLog, group: Group): void {
  for (;;) {
    const consumer = group.consumers.find((one) => one.free > 0);
    if (consumer === undefined) return;
    const record = group.again.shift() ?? nextMatch(log, group);
    if (record === undefined) return;
    consumer.free -= 1;
    group.inFlight.set(record.id, { record, consumer: consumer.call });
    const event = new persistent.ReadResp.ReadEvent();
    event.setEvent(fill(new persistent.ReadResp.ReadEvent.RecordedEvent(), record));
    event.setCommitPosition(String(record.position));
    event.setRetryCount(0);
    const response = new persistent.ReadResp();
    response.setEvent(event);
    consumer.call.write(response);
    // Who is served last waits longest: round robin.
    group.consumers.push(...group.consumers.splice(group.consumers.indexOf(consumer), 1));
  }
}

function nextMatch(log: FakeLog, group: Group): FakeRecord | undefined {
  while (group.next < log.records.length) {
    const record = log.records[group.next] as FakeRecord;
    group.next += 1;
    if (group.matches(record)) return record;
  }
  return undefined;
}

function consume(log: FakeLog, call: Consumer, named: (name: string) => Group | undefined): void {
  let group: Group | undefined;
  const leave = (): void => {
    if (group === undefined) return;
    const mine = [...group.inFlight.values()].filter((one) => one.consumer === call);
    for (const { record } of mine) group.inFlight.delete(record.id);
    group.again.push(...mine.map((one) => one.record));
    group.consumers = group.consumers.filter((one) => one.call !== call);
    handOut(log, group);
  };
  call.on('data', (request: ReadReq) => {
    const options = request.getOptions();
    if (options === undefined) return group && settle(log, group, { call, request });
    group = named(options.getGroupName());
    if (group === undefined) return void call.emit('error', missing(options.getGroupName()));
    const confirmation = new persistent.ReadResp.SubscriptionConfirmation();
    confirmation.setSubscriptionId(randomUUID());
    const response = new persistent.ReadResp();
    response.setSubscriptionConfirmation(confirmation);
    call.write(response);
    group.consumers.push({ call, free: options.getBufferSize() });
    handOut(log, group);
  });
  call.on('cancelled', leave);
  call.on('end', () => call.end());
  call.on('error', () => undefined);
}

function settle(log: FakeLog, group: Group, { call, request }: { call: Consumer; request: ReadReq }): void {
  const nack = request.getNack();
  const ids = (request.getAck() ?? nack)?.getIdsList() ?? [];
  for (const id of ids) {
    const held = group.inFlight.get(id.getString());
    if (held === undefined) continue;
    group.inFlight.delete(id.getString());
    if (nack?.getAction() === persistent.ReadReq.Nack.Action.RETRY) group.again.push(held.record);
    else if (nack?.getAction() === persistent.ReadReq.Nack.Action.PARK) group.parked.push(held.record);
    else group.acknowledged = held.record.position;
    const consumer = group.consumers.find((one) => one.call === call);
    if (consumer !== undefined) consumer.free += 1;
  }
  handOut(log, group);
}

function infoOf(log: FakeLog, group: Group): InstanceType<typeof persistent.SubscriptionInfo> {
  const info = new persistent.SubscriptionInfo();
  const { settings } = group;
  info.setEventSource('$all');
  info.setGroupName(group.name);
  info.setStatus('Live');
  info.setStartFrom(group.startFrom);
  info.setMessageTimeoutMilliseconds(settings.getMessageTimeoutMs());
  info.setMaxRetryCount(settings.getMaxRetryCount());
  info.setNamedConsumerStrategy('RoundRobin');
  for (const set of ['setTotalItems', 'setCountSinceLastMeasurement', 'setLiveBufferCount'] as const) info[set]('0');
  info.setParkedMessageCount(String(group.parked.length));
  info.setTotalInFlightMessages(group.inFlight.size);
  info.setOutstandingMessagesCount(group.inFlight.size);
  if (group.acknowledged !== undefined)
    info.setLastCheckpointedEventPosition(`C:${group.acknowledged}/P:${group.acknowledged}`);
  const last = log.records.at(-1);
  if (last !== undefined) info.setLastKnownEventPosition(`C:${last.position}/P:${last.position}`);
  info.setConnectionsList(
    group.consumers.map(({ free }) => {
      const connection = new persistent.SubscriptionInfo.ConnectionInfo();
      connection.setTotalItems('0');
      connection.setCountSinceLastMeasurement('0');
      connection.setAvailableSlots(free);
      return connection;
    }),
  );
  return info;
}

export type FakeGroups = Map<string, Group>;
