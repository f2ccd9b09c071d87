import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { EncodedAppend } from '../encode.js';

type Options = InstanceType<typeof streams.BatchAppendReq.Options>;
type ProposedMessage = InstanceType<typeof streams.BatchAppendReq.ProposedMessage>;

/**
 * A message of the call carries so much, if an event alone is not more. The server takes 16 MiB at most and counts only
 * whole appends.
 */
const PART_BYTES = 2 * 1024 * 1024;

/**
 * An append after version `after` (-1: the stream must not exist) in the parts that one call carries. It names no
 * deadline: the server would hold it against its own clock, and one that goes fast would refuse everything.
 */
export function appendParts(append: EncodedAppend, after: number): BatchAppendReq[] {
  const parts: BatchAppendReq[] = [];
  let [part, bytes] = [new streams.BatchAppendReq().setOptions(optionsOf(append.stream, after)), 0];
  for (const event of append.events) {
    const size = event.data.length + event.metadata.length;
    if (bytes > 0 && bytes + size > PART_BYTES) {
      parts.push(part);
      [part, bytes] = [new streams.BatchAppendReq(), 0];
    }
    part.addProposedMessages(proposedMessage(event));
    bytes += size;
  }
  return [...parts, part.setIsFinal(true)];
}

function optionsOf(stream: string, after: number): Options {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8').toString('base64')),
  );
  return after < 0 ? options.setNoStream(new shared.Empty()) : options.setStreamPosition(String(after));
}

/** An event as it is stored: data and metadata are the RFC 8785 bytes, and JSON for the server's own pages. */
function proposedMessage(event: EncodedAppend['events'][number]): ProposedMessage {
  const message = new streams.BatchAppendReq.ProposedMessage().setId(
    new shared.UUID().setString(event.id.toLowerCase()),
  );
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  return message.setData(plain(event.data)).setCustomMetadata(plain(event.metadata));
}

/** The stubs take bytes as they are only as a plain Uint8Array. */
const plain = (bytes: Buffer): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
