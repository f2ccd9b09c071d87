import { backoffMs, systemClock, type Clock } from '#kernel';
import {
  checkConsistency,
  cosignaturesIn,
  hashesInTiles,
  noteText,
  proveConsistency,
  rootOf,
  type AddCheckpoint,
} from '#merkle';
import type { Pool } from '#postgres';
import { sentenceOf, type ServiceLog } from '#service';
import {
  breakCount,
  cosignedSize,
  keepCosignature,
  newestCheckpoint,
  type StoredCheckpoint,
  tilesIn,
} from '#sealed-log';
import type { askWitness, WitnessAnswer } from './ask.js';
import type { ConfiguredWitness } from './witness-list.js';

export interface WitnessRoundOptions {
  pool: Pool;
  witness: ConfiguredWitness;
  ask: typeof askWitness;
  log: ServiceLog;
  clock?: Clock;
}

/** How a witness stands. */
export interface WitnessStanding {
  name: string;
  /** The newest size that it cosigned, of the present tree. */
  size: number;
  /** Why it did not cosign the newest checkpoint. */
  failing?: { since: Date; reason: string };
  /** It cosigned a tree that the present one does not begin with. */
  refused?: { since: Date; reason: string };
}

/** Other sizes that a witness may name in one round. */
const MOST_TRIES = 4;
/** A checkpoint that another auditor signed is seen so late. */
const IDLE_MS = 10_000;
const BACKOFF = { firstMs: 2_000, mostMs: 300_000 };

type Attempt = { kind: 'done' } | { kind: 'again' } | { kind: 'refused' | 'failed'; reason: string };

/**
 * Brings the newest checkpoint to one witness, with the proof that it follows from what that witness knows. It changes
 * nothing of what is sealed and signed: a witness that is away, or that lies, stops nobody.
 */
export class WitnessRound {
  readonly standing: WitnessStanding;
  private readonly clock: Clock;
  private failures = 0;
  /** The size that the witness has, as far as it is known. */
  private old = 0;
  private breaks = -1;

  constructor(private readonly options: WitnessRoundOptions) {
    this.clock = options.clock ?? systemClock;
    this.standing = { name: options.witness.name, size: 0 };
  }

  /** Asks until the newest checkpoint is cosigned or cannot be; returns after how many ms to come again. */
  async turn(signal: AbortSignal): Promise<number> {
    const ended = await this.attempts(signal).catch((error: unknown): Attempt => ({
      kind: 'failed',
      reason: sentenceOf(error),
    }));
    if (signal.aborted) return 0;
    this.note(ended);
    return ended.kind === 'done' ? IDLE_MS : backoffMs(this.failures, BACKOFF);
  }

  private async attempts(signal: AbortSignal): Promise<Attempt> {
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const ended = await this.attempt(signal);
      if (ended.kind !== 'again') return ended;
    }
    return { kind: 'failed', reason: `it named another size ${MOST_TRIES} times in a row` };
  }

  private async attempt(signal: AbortSignal): Promise<Attempt> {
    const { pool, witness, ask } = this.options;
    await this.recall();
    const newest = await newestCheckpoint(pool);
    if (newest === undefined || this.standing.size >= newest.size) return { kind: 'done' };
    if (this.old > newest.size) return this.smaller(newest);
    const request = await this.requestFor(newest);
    if (request === undefined)
      return { kind: 'failed', reason: `the tree does not prove that it grew from ${this.old} leaves` };
    return this.take(await ask(witness, request, signal), newest);
  }

  /** What the database knows of this witness; after a break of the log another tree begins. */
  private async recall(): Promise<void> {
    const { pool, witness } = this.options;
    const breaks = await breakCount(pool);
    const size = await cosignedSize(pool, witness.key);
    if (breaks !== this.breaks) {
      delete this.standing.refused;
      Object.assign(this, { breaks, old: size });
    }
    this.standing.size = size;
    this.old = Math.max(this.old, size);
  }

  /** Undefined where our own tree does not prove it: then it is not the witness that is asked. */
  private async requestFor({ size, root, note }: StoredCheckpoint): Promise<AddCheckpoint | undefined> {
    const { old } = this;
    if (old === 0) return { old, path: [], note };
    const read = hashesInTiles(tilesIn(this.options.pool));
    const path = await proveConsistency(old, size, read);
    const claim = { from: old, fromRoot: await rootOf(old, read), to: size, toRoot: root, path };
    return checkConsistency(claim) ? { old, path, note } : undefined;
  }

  private async take(answer: WitnessAnswer, newest: StoredCheckpoint): Promise<Attempt> {
    switch (answer.kind) {
      case 'cosigned':
        return this.keep(answer.lines, newest);
      case 'other_size':
        return this.from(answer.size, newest);
      case 'contradicted':
        return this.another(newest, answer.words);
      case 'refused':
        return { kind: 'failed', reason: answer.words };
      default:
        return answer satisfies never;
    }
  }

  private from(size: number, newest: StoredCheckpoint): Attempt {
    // Some witnesses say so that their root of this size is another one.
    if (size === this.old && size === newest.size) return this.another(newest, 'its tree of this size is another one');
    if (size === this.old) return { kind: 'failed', reason: `it refuses the size ${size}, which it has itself` };
    this.old = size;
    return { kind: 'again' };
  }

  private async keep(lines: string, newest: StoredCheckpoint): Promise<Attempt> {
    const { pool, witness, log } = this.options;
    const { size, note } = newest;
    const [cosignature] = cosignaturesIn(`${noteText(note)}\n${lines}`, [witness.key]);
    if (cosignature === undefined)
      return { kind: 'failed', reason: 'it answers with a cosignature of another key than is configured' };
    await keepCosignature(pool, { breaks: this.breaks, size }, cosignature);
    this.standing.size = size;
    this.old = size;
    log.info({ witness: witness.name, size }, 'a witness cosigned a checkpoint');
    return { kind: 'done' };
  }

  private another({ size }: StoredCheckpoint, words: string): Attempt {
    const reason =
      `it does not cosign the checkpoint of ${size} events: they do not begin with the ${this.old} events that it ` +
      `cosigned, so the log was rewritten since (${words})`;
    return { kind: 'refused', reason };
  }

  private smaller({ size }: StoredCheckpoint): Attempt {
    const reason =
      `it has cosigned ${this.old} events, and ${size} are signed here: the log was made smaller, or reset, and what ` +
      'the auditor remembered too';
    // The witness is asked again: it may have been wrong, or another auditor may have signed more.
    this.old = this.standing.size;
    return { kind: 'refused', reason };
  }

  private note(ended: Attempt): void {
    const { standing, options } = this;
    if (ended.kind === 'done' || ended.kind === 'again') {
      this.failures = 0;
      delete standing.failing;
      delete standing.refused;
      return;
    }
    this.failures += 1;
    const { kind, reason } = ended;
    const isNews = standing.failing?.reason !== reason;
    standing.failing = { since: standing.failing?.since ?? this.clock.now(), reason };
    if (kind === 'refused') standing.refused = { since: standing.refused?.since ?? this.clock.now(), reason };
    if (!isNews) return;
    const fields = { witness: standing.name, reason };
    if (kind === 'refused') options.log.error(fields, 'a witness holds another history: the log was rewritten');
    else options.log.warn(fields, 'a witness did not cosign');
  }
}
