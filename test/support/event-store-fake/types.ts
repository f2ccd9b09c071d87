import type { Map as ProtobufMap } from 'google-protobuf';
import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';

export type StreamIdentifierMessage = StreamIdentifier;

/** What the recorded events of both services have in common. */
export interface RecordedEventMessage {
  setId(id: UUID): unknown;
  setStreamIdentifier(identifier: StreamIdentifier): unknown;
  setStreamRevision(revision: string): unknown;
  setCommitPosition(position: string): unknown;
  setPreparePosition(position: string): unknown;
  getMetadataMap(): ProtobufMap<string, string>;
  setData(data: Uint8Array): unknown;
  setCustomMetadata(metadata: Uint8Array): unknown;
}
