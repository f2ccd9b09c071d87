import { crc32, deflateRawSync } from 'node:zlib';

export interface Entry {
  name: string;
  content: Buffer;
  /** Told in place of its length, and of its packed length. */
  bytes?: number;
  flags?: number;
  method?: number;
  /** Its lengths stand in a field of zip64. */
  isZip64?: boolean;
  /** The header before its content tells all of it, too. */
  isToldTwice?: boolean;
}

/** The field of zip64: length and packed length in eight bytes each (APPNOTE 4.5.3). */
function zip64Of(bytes: number, packedBytes: number): Buffer {
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(BigInt(bytes), 4);
  extra.writeBigUInt64LE(BigInt(packedBytes), 12);
  return extra;
}

/** A zip (PKWARE APPNOTE 6.3), right but for what an entry says otherwise. */
export function zipOf(entries: Entry[]): Buffer {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const { name, content, bytes = content.length, flags = 0, method = 8, isZip64 = false, ...more } of entries) {
    const packed = method === 8 ? deflateRawSync(content) : content;
    const extra = isZip64 ? zip64Of(bytes, packed.length) : Buffer.alloc(0);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    if (more.isToldTwice === true) {
      local.writeUInt16LE(method, 8);
      local.writeUInt32LE(crc32(content), 14);
      local.writeUInt32LE(packed.length, 18);
      local.writeUInt32LE(bytes, 22);
    }
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(flags, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(crc32(content), 16);
    central.writeUInt32LE(isZip64 ? 0xffff_ffff : packed.length, 20);
    central.writeUInt32LE(isZip64 ? 0xffff_ffff : bytes, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt16LE(extra.length, 30);
    central.writeUInt32LE(at, 42);
    parts.push(local, Buffer.from(name), packed);
    directory.push(central, Buffer.from(name), extra);
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
