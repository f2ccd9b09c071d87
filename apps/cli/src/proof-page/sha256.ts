/** SHA-256 (FIPS 180-4), at once: a browser has only one that is waited for, 250,000 times for a long proof. */

// prettier-ignore
const ROUND = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);
// prettier-ignore
const BEGIN = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const;
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/** What one call works in; the next one writes over it. */
const state = new Int32Array(8);
const words = new Int32Array(64);

/** The 32 bytes of the digest. */
export function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  // The length in bits, in 64 bits.
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  state.set(BEGIN);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    for (let t = 0; t < 16; t += 1) words[t] = view.getInt32(at + 4 * t);
    compress();
  }
  const digest = new DataView(new ArrayBuffer(DIGEST_BYTES));
  for (let i = 0; i < 8; i += 1) digest.setInt32(4 * i, word(i));
  return new Uint8Array(digest.buffer);
}

const word = (i: number): number => state[i] as number;
const w = (t: number): number => words[t] as number;

/** One block: 6.2.2 of the standard. */
function compress(): void {
  for (let t = 16; t < 64; t += 1) {
    const [near, far] = [w(t - 2), w(t - 15)];
    const nearMixed = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    const farMixed = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
    words[t] = nearMixed + w(t - 7) + farMixed + w(t - 16);
  }
  let [a, b, c, d] = [word(0), word(1), word(2), word(3)];
  let [e, f, g, h] = [word(4), word(5), word(6), word(7)];
  for (let t = 0; t < 64; t += 1) {
    const sumE = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + sumE + ((e & f) ^ (~e & g)) + (ROUND[t] as number) + w(t)) | 0;
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  const added = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i += 1) state[i] = word(i) + (added[i] as number);
}

const turned = (one: number, bits: number): number => (one >>> bits) | (one << (32 - bits));
