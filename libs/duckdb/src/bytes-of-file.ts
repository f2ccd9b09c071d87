import { open } from 'node:fs/promises';

const PIECE_BYTES = 1 << 20;

/**
 * The bytes of a file, some at a time. They lie in one buffer, which is used again: with a new one for each piece, as a
 * stream makes them, the program would collect garbage most of the time.
 */
export async function* bytesOfFile(path: string): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
