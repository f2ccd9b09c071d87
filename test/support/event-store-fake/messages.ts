import type { ServiceError } from '@grpc/grpc-js';
import { Metadata, status } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { RecordedEventMessage, StreamIdentifierMessage } from './types.js';
import type { FakeRecord } from './log.js';

const TICKS_PER_MILLISECOND = 10_000n;

export const nameOf = (identifier: StreamIdentifierMessage | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

export function identifierOf(name: string): StreamIdentifierMessage {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(name, 'utf8'));
  return identifier;
}

/** Fills a recorded event of the Streams or the PersistentSubscriptions service: both have the same fields. */
export function fill<Message extends RecordedEventMessage>(message: Message, record: FakeRecord): Message {
  const id = new shared.UUID();
  id.setString(record.id);
  message.setId(id);
  message.setStreamIdentifier(identifierOf(record.stream));
  message.setStreamRevision(String(record.revision));
  message.setCommitPosition(String(record.position));
  message.setPreparePosition(String(record.position));
  const metadata = message.getMetadataMap();
  metadata.set('type', record.type);
  metadata.set('content-type', record.isJson ? 'application/json' : 'application/octet-stream');
  metadata.set('created', String(BigInt(record.createdAt.getTime()) * TICKS_PER_MILLISECOND));
  message.setData(record.data);
  message.setCustomMetadata(record.metadata);
  return message;
}

export function eventMessage(record: FakeRecord): InstanceType<typeof streams.ReadResp> {
  const event = new streams.ReadResp.ReadEvent();
  event.setEvent(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), record));
  event.setCommitPosition(String(record.position));
  const response = new streams.ReadResp();
  response.setEvent(event);
  return response;
}

/** A refusal as the real server words it: the client reads its trailers, above all `exception`. */
export function refusal(code: status, details: string, trailers: Record<string, string> = {}): Partial<ServiceError> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return { code, details, metadata };
}

interface FilterMessage {
  hasStreamIdentifier(): boolean;
  getStreamIdentifier(): ExpressionMessage | undefined;
  getEventType(): ExpressionMessage | undefined;
}
interface ExpressionMessage {
  getRegex(): string;
  getPrefixList(): string[];
}

/** The server's filter: by the name of the stream or by the type, a regular expression or one of several prefixes. */
export function matcherOf(filter: FilterMessage | undefined): (record: FakeRecord) => boolean {
  if (filter === undefined) return () => true;
  const byStream = filter.hasStreamIdentifier();
  const expression = byStream ? filter.getStreamIdentifier() : filter.getEventType();
  const regex = expression?.getRegex() ? new RegExp(expression.getRegex(), 'u') : undefined;
  const prefixes = expression?.getPrefixList() ?? [];
  return (record) => {
    const text = byStream ? record.stream : record.type;
    return regex === undefined ? prefixes.some((prefix) => text.startsWith(prefix)) : regex.test(text);
  };
}
