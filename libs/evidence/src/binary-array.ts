const BYTEA_OID = 17;

/**
 * A one-dimensional bytea[] in PostgreSQL's binary form (array_recv). A Buffer goes to the server as it is, whereas an
 * array of Buffers would become hexadecimal text: twice the bytes, and work on both sides. (Answers have no such way:
 * the driver reads every value as UTF-8.)
 */
export function byteaArray(items: Uint8Array[]): Buffer {
  let byteLength = 20;
  for (const item of items) byteLength += 4 + item.length;
  const array = Buffer.allocUnsafe(byteLength);
  // Dimensions, "has nulls", element type, then the one dimension's length and lower bound.
  array.writeInt32BE(1, 0);
  array.writeInt32BE(0, 4);
  array.writeInt32BE(BYTEA_OID, 8);
  array.writeInt32BE(items.length, 12);
  array.writeInt32BE(1, 16);
  let at = 20;
  for (const item of items) {
    at = array.writeInt32BE(item.length, at);
    array.set(item, at);
    at += item.length;
  }
  return array;
}
