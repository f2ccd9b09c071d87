import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import {
  type CheckedEvent,
  type ProofHead,
  type ProofLine,
  type ProvenCount,
  type ProvenEvent,
  type Verified,
  type VerifyOptions,
  verifyProofLines,
} from '#proofs';
import { proofLines } from '#sealed-log';

/** The lines of a proof, to be looked at and changed. */
export async function provenLines(pool: Pool, store: EventStore, stream: string): Promise<ProofLine[]> {
  const lines: ProofLine[] = [];
  for await (const line of proofLines({ pool, store }, stream)) lines.push(line);
  return structuredClone(lines);
}

export const headOf = (lines: ProofLine[]): ProofHead => lines[0] as ProofHead;
export const eventsIn = (lines: ProofLine[]): ProvenEvent[] => lines.filter((line) => 'entry' in line);
export const countOf = (lines: ProofLine[]): ProvenCount =>
  (lines.find((line) => 'count' in line) as { count: ProvenCount }).count;

/** As it is read from a file. */
export const verifyLines = (lines: ProofLine[], key: string, options?: VerifyOptions): Promise<Verified> =>
  verifyText(lines.map((line) => JSON.stringify(line)).join('\n'), key, options);

export const verifyText = (text: string, key: string, options?: VerifyOptions): Promise<Verified> =>
  verifyProofLines(linesOf(text), key, options);

/** What a verifier is told of each event. */
export async function checkedEvents(lines: ProofLine[], key: string): Promise<CheckedEvent[]> {
  const events: CheckedEvent[] = [];
  await verifyLines(lines, key, { onEvent: (event) => events.push(event) });
  return events;
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').filter((line) => line !== '');
}
