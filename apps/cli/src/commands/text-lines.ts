/** No line of a proof of any version is longer: what comes behind is not read. */
const MOST_CHARACTERS = 256 * 1024 * 1024;

/**
 * The lines of a text that comes in pieces. A line ends with LF, or CR and LF, and with nothing else: `readline` of
 * later versions of Node.js ends one at U+2028 and U+2029 too, which JSON has within its texts.
 */
export async function* textLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let [begun, characters] = [[] as string[], 0];
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      yield [...begun, piece.slice(from, end)].join('').replace(/\r$/, '');
      [begun, characters, from] = [[], 0, end + 1];
    }
    begun.push(piece.slice(from));
    characters += piece.length - from;
    if (characters > MOST_CHARACTERS) break;
  }
  const last = begun.join('');
  if (last !== '') yield last;
}
