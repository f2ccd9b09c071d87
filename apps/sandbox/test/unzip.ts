import { crc32, inflateRawSync } from 'node:zlib';

/**
 * The one file of a zip, found by its central directory as an unzip program does, and checked against its checksum and
 * sizes.
 */
export function unzipped(zip: Buffer): { name: string; text: string } {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  const central = zip.readUInt32LE(end + 16);
  if (zip.readUInt32LE(central) !== 0x02014b50 || zip.readUInt16LE(end + 10) !== 1)
    throw new Error('no central directory of one file');
  const [checksum, packedSize, size] = [16, 20, 24].map((at) => zip.readUInt32LE(central + at)) as [
    number,
    number,
    number,
  ];
  const name = zip.subarray(central + 46, central + 46 + zip.readUInt16LE(central + 28)).toString();
  const local = zip.readUInt32LE(central + 42);
  if (zip.readUInt32LE(local) !== 0x04034b50 || zip.readUInt32LE(local + 14) !== checksum)
    throw new Error('the local header differs');
  const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const content = inflateRawSync(zip.subarray(from, from + packedSize));
  if (content.length !== size || crc32(content) !== checksum || from + packedSize !== central)
    throw new Error('the content is not what the directory says');
  return { name, text: content.toString('utf8') };
}
