import { cosign, noteText, parseAddCheckpoint, type NoteSigner, type NoteVerifier } from '#merkle';
import { systemClock, type Clock } from '#kernel';
import { judge, type Verdict } from './judge.js';
import type { Newest, StateFolder } from './state-folder.js';

export interface WitnessOptions {
  signer: NoteSigner;
  /** Keys of the logs that are witnessed. */
  logs: NoteVerifier[];
  state: StateFolder;
  clock?: Clock;
}

/** An answer over HTTP. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
  verdict: Verdict['kind'];
  /** The log that was asked for, where it is one that is witnessed. */
  origin?: string;
}

/** Somebody else may be faster so often before the caller is told to come again. */
const MOST_TURNS = 3;
const TEXT = 'text/plain; charset=utf-8';

/**
 * Cosigns a checkpoint that follows from the one that it cosigned before, and none else. Judging, writing to the disk
 * and signing are one synchronous step, so that two requests never cosign a fork.
 */
export class Witness {
  private readonly clock: Clock;

  constructor(private readonly options: WitnessOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Answers the body of a request (C2SP tlog-witness, add-checkpoint). Throws where its own files are damaged. */
  addCheckpoint(body: string): Answer {
    for (let turn = 1; turn <= MOST_TURNS; turn += 1) {
      const found: { newest?: Newest | undefined } = {};
      const verdict = judge(body, this.options.logs, (origin) => {
        found.newest = this.options.state.newest(origin);
        return found.newest?.checkpoint;
      });
      const answer = this.answerTo(verdict, body, found.newest);
      if (answer !== undefined) return answer;
    }
    return {
      status: 503,
      contentType: TEXT,
      body: 'others bring checkpoints of this log; try again\n',
      verdict: 'follows',
    };
  }

  /** Undefined where another request was faster. */
  private answerTo(verdict: Verdict, body: string, newest: Newest | undefined): Answer | undefined {
    const plain = (status: number, words: string): Answer => ({
      status,
      contentType: TEXT,
      body: `${words}\n`,
      verdict: verdict.kind,
    });
    switch (verdict.kind) {
      case 'malformed':
        return plain(400, verdict.words);
      case 'unknown_log':
        return plain(404, verdict.words);
      case 'not_signed':
        return plain(403, verdict.words);
      case 'other_size':
        return { ...plain(409, String(verdict.size)), contentType: 'text/x.tlog.size' };
      case 'not_proven':
        return plain(422, verdict.words);
      case 'contradicts':
        return { ...plain(422, verdict.words), origin: this.keepRefused(body, verdict.isSure) };
      case 'follows':
        return this.cosigned(verdict, body, newest);
      default:
        return verdict satisfies never;
    }
  }

  private cosigned(
    { text, checkpoint: { origin, size } }: Extract<Verdict, { kind: 'follows' }>,
    body: string,
    newest: Newest | undefined,
  ): Answer | undefined {
    const { state, signer } = this.options;
    // The same tree again changes nothing: an answer that was lost is given again.
    const isKnown = newest !== undefined && newest.checkpoint.size === size;
    if (isKnown) state.settle();
    else if (!state.advance(origin, newest, parseAddCheckpoint(body).note)) return undefined;
    return {
      status: 200,
      contentType: TEXT,
      body: cosign(text, signer, this.clock.now()),
      verdict: 'follows',
      origin,
    };
  }

  private keepRefused(body: string, isSure: boolean): string {
    const { note } = parseAddCheckpoint(body);
    const origin = note.slice(0, note.indexOf('\n'));
    this.options.state.keepRefused(origin, { body, text: noteText(note), isSure });
    return origin;
  }
}
