import { SOFTWARE_VERSION, type EventMetadata, type RecordedEvent } from '#event-store';
import { invalidParameter, type PedigreeError } from '#kernel';
import type { AnsweredEvent, VerifiedAnswer, VerifyOptions } from '#proofs';
import { snakeCase } from '../../../gateway/src/api/snake-case.js';
import { firstDifference } from './first-difference.js';
import { READINGS, type Answered, type ReadAgain } from './readings.js';

/** Whether an answer follows from its events. One that does not is refused. */
export type Reading =
  { kind: 'follows'; /** What was not read from events. */ beside: string[] } | { kind: 'unchecked'; why: string };

/** More is not kept; the events themselves are checked all the same. */
const MOST_EVENTS = 200_000;
const MOST_EVIDENCE_BYTES = 256 * 1024 * 1024;
/** So many members that were not compared are named. */
const MOST_NAMED = 50;
/** Words are of a version of the program, and not of the log. */
const WORDS = new Set(['sentence', 'remedy', 'title', 'what']);

/** Reads an answer again, from the events of its proof, as the read models of the server do. */
export class AnswerReading {
  private readonly events = new Map<string, AnsweredEvent[]>();
  private readonly evidence = new Map<string, Buffer>();
  private counts = { events: 0, bytes: 0 };

  /** What is told while the proof is checked. */
  readonly listening: Pick<VerifyOptions, 'onAnswered' | 'onEvidence'> = {
    onAnswered: (event) => {
      this.counts.events += 1;
      if (this.counts.events > MOST_EVENTS) return;
      const same = this.events.get(event.stream);
      if (same === undefined) this.events.set(event.stream, [event]);
      else same.push(event);
    },
    onEvidence: (sha256, bytes) => {
      this.counts.bytes += bytes.length;
      if (this.counts.bytes <= MOST_EVIDENCE_BYTES) this.evidence.set(sha256, Buffer.from(bytes));
    },
  };

  /** Throws PedigreeError `invalid_parameter` where the answer does not follow from its events. */
  async of(answer: VerifiedAnswer): Promise<Reading> {
    const [, noun = '', asked = ''] = /^\/v1\/([a-z-]+)\/([^/?]+)$/.exec(answer.route.split('?')[0] ?? '') ?? [];
    const read = READINGS[noun];
    if (read === undefined)
      return { kind: 'unchecked', why: 'an answer of this kind cannot be worked out from its events offline' };
    if (this.counts.events > MOST_EVENTS)
      return { kind: 'unchecked', why: `it is made from more than ${MOST_EVENTS} events` };
    const body = JSON.parse(answer.body) as Record<string, unknown>;
    this.checkTimeline(answer, body);
    const again = await this.readAgain(read, { ...this.answered(answer, body), asked });
    return { kind: 'follows', beside: [...(again?.beside ?? []), ...checkSame(answer, body, again?.answer)] };
  }

  /** A line for each event of its subject: where that fails, the first difference elsewhere would say little. */
  private checkTimeline({ streams }: VerifiedAnswer, { timeline }: Record<string, unknown>): void {
    const events = streams[0]?.events ?? 0;
    if (Array.isArray(timeline) && timeline.length !== events)
      throw doesNotFollow(
        '/timeline/length',
        `the answer says ${timeline.length}, and from the events follows ${events}`,
      );
  }

  /** Events that no read model takes give no answer. */
  private async readAgain(read: (answered: Answered) => Promise<ReadAgain | undefined>, answered: Answered) {
    try {
      return await read(answered);
    } catch (error) {
      throw doesNotFollow('', (error as Error).message);
    }
  }

  private answered({ readAt, streams }: VerifiedAnswer, body: Record<string, unknown>): Omit<Answered, 'asked'> {
    const [subject] = streams;
    const positions = positionsIn(body);
    return {
      // The stream is the one of the route: that was checked.
      id: subject?.stream.replace(/^[a-z]+-/, '') ?? '',
      body,
      readAt: new Date(readAt),
      streams: streams.map(({ stream }) => stream),
      evidence: (sha256) => this.evidence.get(sha256),
      events: (stream) => {
        if (!streams.some((one) => one.stream === stream))
          throw new Error(`it follows from the stream ${stream} too, which is not here`);
        const events = this.events.get(stream) ?? [];
        const known = stream === subject?.stream && positions.length === events.length ? positions : [];
        return events.map((event, n) => recorded(event, known[n]));
      },
    };
  }
}

/**
 * What was not compared. Nobody signs the version: who makes up an answer may say that another one made it, so each
 * member that differs is named.
 */
function checkSame({ software }: VerifiedAnswer, body: object, answer: object | undefined): string[] {
  const leftOut: string[] = [];
  const onLeftOut = (pointer: string): void => void leftOut.push(pointer);
  const isSame = software === SOFTWARE_VERSION;
  const follows: unknown = answer && JSON.parse(JSON.stringify(snakeCase(answer)));
  const differs = firstDifference(body, follows, isSame ? {} : { except: WORDS, isPartial: true, onLeftOut });
  if (differs !== undefined) {
    const { pointer, said = 'nothing', follows: other = 'nothing' } = differs;
    throw doesNotFollow(pointer, `the answer says ${said}, and from the events follows ${other}`);
  }
  if (leftOut.length === 0) return [];
  const more = leftOut.length - MOST_NAMED;
  const named = leftOut.slice(0, MOST_NAMED).join(', ');
  return [
    `NOT CHECKED: ${named}${more > 0 ? ` and ${more} more` : ''}. Version ${software} made it, says the file: words ` +
      'and members of another version may differ',
  ];
}

/** Log positions are those of the engine that keeps the log. The answer's own are taken, as far as they rise. */
function positionsIn({ timeline }: Record<string, unknown>): bigint[] {
  if (!Array.isArray(timeline)) return [];
  const positions = (timeline as { position?: unknown }[]).map(({ position }) => String(position));
  if (!positions.every((one) => /^\d{1,19}$/.test(one))) return [];
  const numbers = positions.map(BigInt);
  return numbers.every((one, n) => n === 0 || one > (numbers[n - 1] as bigint)) ? numbers : [];
}

/** Where no position is known, that of the leaf keeps the order. */
const UNSEALED = 9_000_000_000_000_000n;

function recorded(
  { leaf, data, metadata, recordedAt, ...event }: AnsweredEvent,
  known: bigint | undefined,
): RecordedEvent {
  return {
    ...event,
    data: JSON.parse(data) as RecordedEvent['data'],
    metadata: JSON.parse(metadata) as EventMetadata,
    recordedAt: new Date(recordedAt),
    position: known ?? (leaf === undefined ? UNSEALED + BigInt(event.version) : BigInt(leaf)),
  };
}

const doesNotFollow = (pointer: string, why: string): PedigreeError => invalidParameter(`/answer/body${pointer}`, why);
