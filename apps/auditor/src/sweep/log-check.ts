import { storedHeads, strayEvents, type EventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { defined } from '#kernel';
import { EMPTY_ROOT, type Checkpoint, type Hash, type NoteVerifier } from '#merkle';
import type { Pool } from '#postgres';
import type { LeafForm, LogKeys } from '#proofs';
import type { LeafFile } from '../memory/leaf-file.js';
import { align, type Alignment } from './align.js';
import { holdCosignatures } from './cosignatures-check.js';
import type { Report } from './finding.js';
import { MOST_TOLD } from './finding-book.js';
import { holdNamed } from './named-evidence.js';
import { readLeaves, turned, wordsOf, type ReadLeaf } from './read-leaves.js';
import {
  checkpointsAfter,
  checkpointsBetween,
  holdCheckpoint,
  holdPages,
  holdStrayPages,
  holdTiles,
  type CheckpointRow,
} from './sealed-tables.js';
import { SignedLeaves, type KnownLeaf } from './signed-leaves.js';
import { TreeWalk, type StoredWalk } from './tree-walk.js';

export interface LogCheckParts {
  pool: Pool;
  store: Pick<EventStore, 'readAll' | 'positionUnit'>;
  /** The leaf hashes in the auditor's folder. */
  leaves: LeafFile;
  keys: LogKeys;
  /** What was signed, as the folder has it: everything is held against this. */
  signed: Checkpoint;
  breaks: number;
  /** Up to this position gaps of the log were told by a person. */
  told: bigint;
  /** Keys of the witnesses that are asked. */
  witnesses: NoteVerifier[];
  report: Report;
}

/** How far the walk over the log has come, as text for a file. */
export interface LogPlace {
  position: string;
  page: { leaf: number; after: string };
  walk: StoredWalk;
  /** The first leaf that was seen to name digests, and the last that was seen to be a whole event. */
  digestsFrom?: number | undefined;
  wholeUpTo?: number | undefined;
}

const PAGE_EVENTS = 1_024;
/** Leaves that are looked through for where the log goes on, behind a difference. */
const WINDOW = 4_096;

/**
 * Walks over the log and the leaves that were signed, side by side: each event must be its leaf, each leaf must have an
 * event, and what they give together must be the tiles, pages and checkpoints in the database, and the root that the
 * auditor's folder has. Evidence that events name must be there.
 */
export class LogCheck {
  private readonly walk: TreeWalk;
  private readonly signedLeaves: SignedLeaves;
  private readonly evidence: PostgresEvidenceStore;
  private position: bigint;
  private page: { leaf: number; after: bigint };
  private digestsFrom: number | undefined;
  private wholeUpTo: number | undefined;
  private isAtEnd = false;
  events = 0;

  constructor(
    private readonly parts: LogCheckParts,
    from?: LogPlace,
  ) {
    this.walk = new TreeWalk(from?.walk);
    this.digestsFrom = from?.digestsFrom;
    this.wholeUpTo = from?.wholeUpTo;
    this.position = BigInt(from?.position ?? 0);
    this.page = { leaf: from?.page.leaf ?? 0, after: BigInt(from?.page.after ?? 0) };
    this.signedLeaves = new SignedLeaves(parts.pool, parts.leaves, parts.signed);
    this.evidence = new PostgresEvidenceStore({ pool: parts.pool, maxCacheBytes: 0 });
  }

  get place(): LogPlace {
    const { leaf, after } = this.page;
    const page = { leaf, after: String(after) };
    const place = { position: String(this.position), page, walk: this.walk.stored() };
    return { ...place, ...defined({ digestsFrom: this.digestsFrom, wholeUpTo: this.wholeUpTo }) };
  }

  get leaf(): number {
    return this.walk.size;
  }

  /** Works one page. Returns the bytes that it read, or undefined when all is done. */
  async next(): Promise<number | undefined> {
    const { signed } = this.parts;
    if (this.isAtEnd || this.walk.size >= signed.size) return undefined;
    const events = await readLeaves(this.parts, {
      after: this.position,
      limit: Math.min(PAGE_EVENTS, signed.size - this.walk.size),
      // The form changes once in a tree.
      forms: this.digestsFrom === undefined ? [1, 2] : [2],
    });
    const page = await PageWalk.begin(this.parts, {
      walk: this.walk,
      signedLeaves: this.signedLeaves,
      position: this.position,
    });
    page.digestsFrom = this.digestsFrom;
    if (events.length === 0) {
      await page.logEnds();
      this.isAtEnd = true;
    } else await page.over(events);
    this.digestsFrom = page.digestsFrom;
    this.wholeUpTo = page.wholeUpTo ?? this.wholeUpTo;
    this.position = events.at(-1)?.position ?? this.position;
    this.events += events.length;
    await this.holdTables(page);
    await holdNamed(this.evidence, events, this.parts.report);
    return events.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** At the end: the tiles that are not full, the root, and what belongs to the log beside its events. */
  async finish(): Promise<void> {
    const { pool, report, signed, breaks, keys, store } = this.parts;
    await holdTiles(pool, this.walk.beginnings(), report);
    const root = this.walk.root();
    if (this.walk.size !== signed.size || !root.equals(signed.root))
      await report({
        what: 'memory',
        where: `the leaves of ${signed.size} events`,
        expected: `the root ${signed.root.toString('hex')}, which was signed`,
        found: `${this.walk.size} leaves with the root ${root.toString('hex')}`,
      });
    if (this.page.leaf < signed.size)
      await report({
        what: 'page',
        where: `the table audit_page, leaf ${this.page.leaf}`,
        expected: `pages up to leaf ${signed.size}`,
        found: 'no page',
      });
    await holdStrayPages(pool, report);
    await holdCosignatures(this.parts);
    for (let earlier = 0; earlier < breaks; earlier += 1)
      for await (const row of checkpointsAfter(pool, earlier))
        await holdCheckpoint({ keys, breaks: earlier, report }, row, undefined);
    if (store.positionUnit !== 'event') return;
    await this.holdCounter();
    await this.holdStrays();
  }

  /** The walk begins at the first position. */
  private async holdStrays(): Promise<void> {
    for (const event of await strayEvents(this.parts.pool, MOST_TOLD))
      await this.parts.report({
        what: 'event',
        where: wordsOf(event),
        expected: 'no event before position 1',
        found: 'an event, which was never sealed',
      });
  }

  private async holdCounter(): Promise<void> {
    const { counter, newest } = await storedHeads(this.parts.pool);
    if (counter === newest) return;
    const where = 'the table event_counter';
    await this.parts.report({ what: 'event', where, expected: `position ${newest}`, found: `position ${counter}` });
  }

  private async holdTables(page: PageWalk): Promise<void> {
    const { pool, report } = this.parts;
    await holdTiles(pool, this.walk.takeFull(), report);
    const positionOf = (leaf: number): bigint | undefined => page.positions.get(leaf);
    const formOf = (first: number, end: number): LeafForm | undefined => {
      if (end > (this.digestsFrom ?? Infinity)) return 2;
      return first <= (this.wholeUpTo ?? -1) ? 1 : undefined;
    };
    this.page = await holdPages({ pool, report }, this.page, { upTo: this.walk.size, positionOf, formOf });
  }
}

const alignmentOf = (events: ReadLeaf[], window: (KnownLeaf | undefined)[]): Alignment =>
  align(
    events.map(({ hash }) => hash),
    window.map((one) => one?.hash),
  );

/** One page of events on its way over the leaves. */
class PageWalk {
  /** Where the event of each leaf stands in the log. */
  readonly positions = new Map<number, bigint>();
  digestsFrom: number | undefined;
  wholeUpTo: number | undefined;

  private constructor(
    private readonly parts: LogCheckParts,
    private readonly on: { walk: TreeWalk; signedLeaves: SignedLeaves; position: bigint },
    private readonly checkpoints: Map<number, CheckpointRow>,
  ) {}

  static async begin(
    parts: LogCheckParts,
    on: { walk: TreeWalk; signedLeaves: SignedLeaves; position: bigint },
  ): Promise<PageWalk> {
    const range = { from: on.walk.size, to: Math.min(parts.signed.size, on.walk.size + PAGE_EVENTS + WINDOW) };
    const rows = await checkpointsBetween(parts.pool, parts.breaks, range);
    return new PageWalk(parts, on, new Map(rows.map((row) => [row.size, row])));
  }

  async over(read: ReadLeaf[]): Promise<void> {
    const { walk, signedLeaves } = this.on;
    const first = walk.size;
    const events = await this.inTheirForm(read);
    const known = await signedLeaves.known(first, first + events.length);
    let [n, before] = [0, this.on.position];
    while (n < events.length && walk.size < this.parts.signed.size) {
      const event = events[n] as ReadLeaf;
      if (known[walk.size - first]?.hash.equals(event.hash) === true) {
        await this.takeEvent(event);
        n += 1;
      } else {
        const { kind, count } = await this.judge(events.slice(n), before);
        n += kind === 'missing' ? 0 : count;
        if (kind === 'missing') before = event.position - 1n;
        if (kind === 'missing') continue;
      }
      await this.holdPlace(before, event);
      before = (events[n - 1] as ReadLeaf).position;
    }
  }

  /**
   * Each event in the form that its leaf has, as far as the leaves that are remembered tell. Behind the first leaf that
   * names digests no event is believed in the older form.
   */
  private async inTheirForm(events: ReadLeaf[]): Promise<ReadLeaf[]> {
    const { walk, signedLeaves } = this.on;
    if (this.digestsFrom !== undefined) return events;
    const window = await signedLeaves.known(walk.size, walk.size + events.length + WINDOW);
    const known = new Set(window.map((leaf) => leaf?.hash.toString('hex')));
    const isKnown = (hash: Hash | undefined): boolean => known.has(hash?.toString('hex') ?? '');
    let hasDigests = false;
    return events.map((event) => {
      hasDigests ||= !isKnown(event.hash) && isKnown(event.other?.hash);
      return hasDigests ? turned(event) : event;
    });
  }

  /** Where no remembered leaf told the form, the checkpoint does. */
  private async asSigned(event: ReadLeaf, index: number): Promise<ReadLeaf> {
    const { other } = event;
    if (other === undefined || (this.digestsFrom !== undefined && other.form === 1)) return event;
    return (await this.on.signedLeaves.isSigned(other.hash, index)) ? turned(event) : event;
  }

  /** What is left of the leaves has no events. */
  async logEnds(): Promise<void> {
    const { signed } = this.parts;
    const from = this.on.walk.size;
    const hash = await this.takeWithout(signed.size - from);
    await this.parts.report({
      what: 'event',
      where: `leaves ${from} to ${signed.size - 1}`,
      expected: `the events of these leaves, the first with the hash ${hash}`,
      found: `the log ends after position ${this.on.position}`,
    });
  }

  /** A leaf and an event that are not each other: says what happened, and takes the leaf that was signed. */
  private async judge(events: ReadLeaf[], before: bigint): Promise<Alignment> {
    const { walk, signedLeaves } = this.on;
    const index = walk.size;
    const event = await this.asSigned(events[0] as ReadLeaf, index);
    const window = await signedLeaves.known(index, index + events.length + WINDOW);
    // Behind events that are missing, the leaves of this page reach further than its events.
    const isKnown = window[0]?.hash.equals(event.hash) === true;
    if (isKnown || (await signedLeaves.isSigned(event.hash, index))) {
      if (!isKnown) await this.sayForgotten(index, window[0], event);
      await this.takeEvent(event);
      return { kind: 'changed', count: 1 };
    }
    const alignment = (await this.farGap(event, before)) ?? alignmentOf(events, window);
    if (alignment.kind === 'missing') await this.sayMissing(alignment.count, event);
    else if (alignment.kind === 'added') await this.sayAdded(events.slice(0, alignment.count), index);
    else await this.sayChanged(event, window[0]);
    return alignment;
  }

  /** Positions tell how many events are missing, however many. */
  private async farGap({ position, hash }: ReadLeaf, before: bigint): Promise<Alignment | undefined> {
    if (this.parts.store.positionUnit !== 'event') return undefined;
    const count = Number(position - before) - 1;
    const leaf = this.on.walk.size + count;
    if (count < 1 || leaf >= this.parts.signed.size) return undefined;
    const [known] = await this.on.signedLeaves.known(leaf, leaf + 1);
    return known?.hash.equals(hash) === true ? { kind: 'missing', count } : undefined;
  }

  private async sayForgotten(index: number, leaf: KnownLeaf | undefined, { hash }: ReadLeaf): Promise<void> {
    // Where it is the tile that is wrong, the tiles say so themselves.
    if (leaf?.isInFolder !== true) return;
    await this.parts.report({
      what: 'memory',
      where: `leaf ${index} in the file leaves of the auditor's folder`,
      expected: `${hash.toString('hex')}, which the checkpoint proves`,
      found: leaf.hash.toString('hex'),
    });
  }

  private async sayMissing(count: number, next: ReadLeaf): Promise<void> {
    const from = this.on.walk.size;
    const hash = await this.takeWithout(count);
    await this.parts.report({
      what: 'event',
      where: count === 1 ? `leaf ${from}` : `leaves ${from} to ${from + count - 1}`,
      expected: `an event with the hash ${hash}`,
      found: `no event before ${next.words}`,
    });
  }

  /** Takes so many leaves that have no event. Returns the hash of the first. */
  private async takeWithout(count: number): Promise<string> {
    const { walk, signedLeaves } = this.on;
    const end = walk.size + count;
    let first: string | undefined;
    while (walk.size < end) {
      for (const leaf of await signedLeaves.known(walk.size, Math.min(end, walk.size + WINDOW))) {
        // Nobody knows it: then the root of all is another one, and that is told.
        const hash = leaf?.hash ?? EMPTY_ROOT;
        first ??= leaf === undefined ? 'that is not known' : hash.toString('hex');
        await this.take(hash, undefined);
      }
    }
    return first ?? 'that is not known';
  }

  private async sayAdded(events: ReadLeaf[], leaf: number): Promise<void> {
    for (const { words, hash } of events)
      await this.parts.report({
        what: 'event',
        where: words,
        expected: `no event before that of leaf ${leaf}`,
        found: `an event with the hash ${hash.toString('hex')}, which was never sealed`,
      });
  }

  private async sayChanged(event: ReadLeaf, leaf: KnownLeaf | undefined): Promise<void> {
    await this.parts.report({
      what: 'event',
      where: `leaf ${this.on.walk.size}: ${event.words}`,
      expected: leaf === undefined ? 'a leaf that is known' : leaf.hash.toString('hex'),
      found: event.hash.toString('hex'),
    });
    await this.take(leaf?.hash ?? event.hash, event.position);
  }

  /** Positions of a log in PostgreSQL have no gap, unless a person told it. */
  private async holdPlace(before: bigint, { position, words }: ReadLeaf): Promise<void> {
    const { store, told, report } = this.parts;
    if (store.positionUnit !== 'event' || position === before + 1n || position <= told) return;
    await report({ what: 'event', where: words, expected: `position ${before + 1n}`, found: `position ${position}` });
  }

  private async takeEvent({ hash, form, position }: ReadLeaf): Promise<void> {
    if (form === 2) this.digestsFrom ??= this.on.walk.size;
    else this.wholeUpTo = this.on.walk.size;
    await this.take(hash, position);
  }

  private async take(hash: Hash, position: bigint | undefined): Promise<void> {
    const { walk } = this.on;
    if (position !== undefined) this.positions.set(walk.size, position);
    walk.add(hash);
    const row = this.checkpoints.get(walk.size);
    if (row !== undefined) await holdCheckpoint(this.parts, row, walk.root());
  }
}
