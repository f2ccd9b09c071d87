import { once } from 'node:events';
import type { Channel, Envelope } from 'rabbitmq-client';
import * as codec from 'rabbitmq-client/lib/codec.js';

/** A channel of the client, with what it lacks. Parts of that touch the inside of its pinned version. */
export type OurChannel = Channel & {
  /** AMQP's basic.reject of one delivery. */
  basicReject(params: { deliveryTag: number; requeue: boolean }): void;
};

interface Inside {
  _onHeader?: (frame: { fields: { contentEncoding?: string } }) => void;
  _invokeNowait?: (methodId: number, params: object) => void;
}

/** Headers and properties of a message go in one frame; this is the client's `frameMax`. Each broker takes it. */
export const MOST_HEADER_BYTES = 8_192;
const HEADER_FRAME = 2;
const FRAME_OVERHEAD_BYTES = 8;
const { encodeFrame } = codec as unknown as { encodeFrame(frame: object): Buffer };

/** What the client compares with its `frameMax`. It adds the time and whether the message is durable by itself. */
export function headerBytes(envelope: Envelope): number {
  const fields = { timestamp: 0, deliveryMode: 1, ...envelope };
  const frame = { type: HEADER_FRAME, channelId: 0, bodySize: 0, fields };
  return encodeFrame(frame).length - FRAME_OVERHEAD_BYTES;
}

/** Class 60, method 90, as the client's codec numbers them. */
const BASIC_REJECT = (60 << 16) | 90;

/**
 * The client parses what calls itself JSON, and decodes what calls itself text, before anybody sees the bytes: of two
 * members of one name the first would be lost, and broken UTF-8 repaired. It leaves alone what has a content encoding,
 * so each message is given one that means "as it is" (RFC 9110, 8.4). And it knows no basic.reject, the one return that
 * a broker of every version counts as a failed delivery. The client has no option for either; should its inside change,
 * we stop here and not at a broken document or a message that comes for ever.
 */
export function ourChannel(channel: Channel): OurChannel {
  const inside = channel as unknown as Inside;
  const { _onHeader: original, _invokeNowait: invoke } = inside;
  if (typeof original !== 'function')
    throw new Error('this version of rabbitmq-client cannot be kept from parsing bodies');
  if (typeof invoke !== 'function')
    throw new Error('this version of rabbitmq-client cannot be made to reject a message');
  inside._onHeader = (frame) => {
    frame.fields.contentEncoding ||= 'identity';
    original.call(channel, frame);
  };
  const close = channel.close.bind(channel);
  return Object.assign(channel, {
    basicReject: (params: object) => invoke.call(channel, BASIC_REJECT, params),
    // Where the connection is lost before all is written, the client waits for an answer that cannot come.
    close: async () => {
      if (channel.active) await Promise.race([close(), once(channel, 'close')]);
    },
  });
}
