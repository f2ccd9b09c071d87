import { canonicalBytes, PedigreeError } from '#kernel';
import type { Append, EventStoreLimits } from './limits.js';
import type { ExpectedVersion, NewEvent } from './port.js';

/** One append, its events already in their stored form: data and metadata as RFC 8785 bytes. */
export interface EncodedAppend {
  stream: string;
  expectedVersion: ExpectedVersion;
  events: { id: string; type: string; schemaVersion: number; data: Buffer; metadata: Buffer }[];
  bytes: number;
}

function bounded(bytes: Buffer, maxBytes: number, field: string): Buffer {
  if (bytes.length <= maxBytes) return bytes;
  throw new PedigreeError('body_too_large', `event ${field} of ${bytes.length} bytes; at most ${maxBytes} are stored`, {
    field,
  });
}

/**
 * Brings the events into their stored form. `metadataOf`: the metadata with what the log adds to it. Throws
 * PedigreeError `body_too_large` for an event beyond its limit.
 */
export function encodeAppend(
  { stream, expectedVersion, events }: Append,
  limits: EventStoreLimits,
  metadataOf: (event: NewEvent) => object = ({ metadata }) => metadata,
): EncodedAppend {
  // The events of one append mostly carry one metadata object in one schema version: it is encoded once.
  let shared: { of: NewEvent; bytes: Buffer } | undefined;
  let bytes = 0;
  const encoded = events.map((event, n) => {
    const data = bounded(canonicalBytes(event.data), limits.maxDataBytes, `/events/${n}/data`);
    if (shared?.of.metadata !== event.metadata || shared.of.schemaVersion !== event.schemaVersion) {
      const metadata = canonicalBytes(metadataOf(event));
      shared = { of: event, bytes: bounded(metadata, limits.maxMetadataBytes, `/events/${n}/metadata`) };
    }
    bytes += data.length + shared.bytes.length;
    return { id: event.id, type: event.type, schemaVersion: event.schemaVersion, data, metadata: shared.bytes };
  });
  return { stream, expectedVersion, events: encoded, bytes };
}

const expectedNumber = (expected: ExpectedVersion): number =>
  expected === 'none' ? -1 : expected === 'any' ? -2 : expected;

/** The arguments of the procedure append_events (migrations/0008-append-events.sql), in its order. */
export function procedureArguments(appends: EncodedAppend[]): unknown[] {
  const streams = new Map<string, number>();
  const append = { stream: [] as number[], expected: [] as number[], first: [] as number[], size: [] as number[] };
  const event = {
    append: [] as number[],
    id: [] as string[],
    type: [] as string[],
    schemaVersion: [] as number[],
    at: [] as number[],
    data: [] as number[],
    metadata: [] as number[],
  };
  const payload: Buffer[] = [];
  let at = 0;
  appends.forEach((one, n) => {
    const stream = streams.get(one.stream) ?? streams.size + 1;
    streams.set(one.stream, stream);
    append.stream.push(stream);
    append.expected.push(expectedNumber(one.expectedVersion));
    append.first.push(event.id.length + 1);
    append.size.push(one.events.length);
    for (const each of one.events) {
      event.append.push(n + 1);
      event.id.push(each.id);
      event.type.push(each.type);
      event.schemaVersion.push(each.schemaVersion);
      event.at.push(at);
      event.data.push(each.data.length);
      event.metadata.push(each.metadata.length);
      payload.push(each.data, each.metadata);
      at += each.data.length + each.metadata.length;
    }
  });
  return [
    [...streams.keys()],
    ...[append.stream, append.expected, append.first, append.size],
    ...[event.append, event.id, event.type, event.schemaVersion, event.at, event.data, event.metadata],
    // One binary parameter for all bytes: an array of bytea would travel as hexadecimal text.
    Buffer.concat(payload, at),
  ];
}
