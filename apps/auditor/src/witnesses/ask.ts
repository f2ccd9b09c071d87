import { addCheckpointText, type AddCheckpoint } from '#merkle';
import { sentenceOf } from '#service';
import type { ConfiguredWitness } from './witness-list.js';

/** What a witness says to a checkpoint, not yet believed (C2SP tlog-witness, add-checkpoint). */
export type WitnessAnswer =
  | { kind: 'cosigned'; lines: string }
  /** It cosigned another size last. */
  | { kind: 'other_size'; size: number }
  /** The tree does not begin with what it cosigned. */
  | { kind: 'contradicted'; words: string }
  /** It does not know the log or its key, is away, or answers otherwise. */
  | { kind: 'refused'; words: string };

const ANSWER_WITHIN_MS = 15_000;
const MOST_ANSWER_BYTES = 64 * 1_024;

/** Asks a witness once. Never throws: whatever comes is an answer. */
export async function askWitness(
  { url }: Pick<ConfiguredWitness, 'url'>,
  request: AddCheckpoint,
  signal: AbortSignal,
): Promise<WitnessAnswer> {
  try {
    const response = await fetch(`${url}/add-checkpoint`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: addCheckpointText(request),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    return answerIn(response, await textOf(response));
  } catch (error) {
    return { kind: 'refused', words: `it does not answer: ${sentenceOf((error as Error).cause ?? error)}` };
  }
}

function answerIn({ status, headers }: Response, text: string): WitnessAnswer {
  const words = `${status} ${text.trim().slice(0, 200)}`;
  if (status === 200) return { kind: 'cosigned', lines: text };
  if (status === 422) return { kind: 'contradicted', words };
  const [size] = /^(?:0|[1-9]\d{0,14})(?=\n$)/.exec(text) ?? [];
  if (status === 409 && size !== undefined && /^text\/x\.tlog\.size\b/.test(headers.get('content-type') ?? ''))
    return { kind: 'other_size', size: Number(size) };
  if (status === 404) return { kind: 'refused', words: `it does not know the log (WITNESS_LOGS there): ${words}` };
  if (status === 403) return { kind: 'refused', words: `it does not know the key that signed: ${words}` };
  return { kind: 'refused', words: `it answers ${words}` };
}

/** A witness may be anybody's: no answer of it fills the memory. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) throw new Error(`the answer has more than ${MOST_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
