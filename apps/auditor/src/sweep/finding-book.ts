import { FINDING_KINDS, isKnownKind, shortened, type Finding, type FindingKind } from './finding.js';
import type { KeptFinding, SweepState } from './state-file.js';

/** Of each kind so many are told in a pass; the others are counted. */
export const MOST_TOLD = 100;
/** So many of each kind stay open at most, and the others are counted: what is kept can be read again (`StateFile`). */
const MOST_OPEN = 500;
/** Findings that are gone are kept so long that the same one, should it come again, is known for a new one. */
const MOST_GONE = 1_000;

/** Writes into the log what a person must be able to prove later. */
export interface FindingRecorder {
  found(finding: KeptFinding): Promise<void>;
  gone(finding: KeptFinding, pass: number): Promise<void>;
}

/** What was found, over all passes: each finding is told once, and once more when it is gone. */
export class FindingBook {
  constructor(
    private readonly state: SweepState,
    private readonly recorder: FindingRecorder,
    private readonly now: () => Date,
  ) {}

  open(): KeptFinding[] {
    return this.state.findings.filter(({ isOpen }) => isOpen);
  }

  /** Records a finding of the pass that is under way. It is in the log before it is in the book. */
  async report(found: Finding): Promise<void> {
    const { pass, findings, begun } = this.state;
    const finding = cut(found);
    const known = findings.find((one) => isSame(one, finding));
    if (known?.isOpen === true) return void (known.lastPass = pass);
    if (this.isFull(pass, finding.what)) {
      if (begun !== undefined) begun.untold[finding.what] = (begun.untold[finding.what] ?? 0) + 1;
      return;
    }
    const since = this.now().toISOString();
    const times = known === undefined ? 0 : known.times + 1;
    const kept: KeptFinding = { ...finding, firstPass: pass, lastPass: pass, since, times, isOpen: true };
    await this.recorder.found(kept);
    this.state.findings = [...findings.filter((one) => one !== known), kept];
  }

  /** At the end of a pass: what it did not find any more is gone, but for what it has not looked for. */
  async endPass(isUnseen: (finding: KeptFinding) => boolean = () => false): Promise<void> {
    const { pass } = this.state;
    for (const one of this.open()) {
      if (one.lastPass === pass || !isKnownKind(one.what) || isUnseen(one)) continue;
      await this.recorder.gone(one, pass);
      one.isOpen = false;
    }
    const gone = this.state.findings.filter(({ isOpen }) => !isOpen);
    const forgotten = new Set(gone.slice(0, Math.max(0, gone.length - MOST_GONE)));
    this.state.findings = this.state.findings.filter((one) => !forgotten.has(one));
  }

  /** How many of each kind are open. */
  counts(): Record<FindingKind, number> {
    const open = this.open();
    const entries = FINDING_KINDS.map((kind) => [kind, open.filter(({ what }) => what === kind).length]);
    return Object.fromEntries(entries) as Record<FindingKind, number>;
  }

  private isFull(pass: number, kind: FindingKind): boolean {
    if (this.toldIn(pass, kind) >= MOST_TOLD) return true;
    return this.open().filter(({ what }) => what === kind).length >= MOST_OPEN;
  }

  private toldIn(pass: number, kind: FindingKind): number {
    return this.state.findings.filter(({ what, lastPass }) => what === kind && lastPass === pass).length;
  }
}

const cut = ({ what, where, expected, found }: Finding): Finding => ({
  what,
  where: shortened(where),
  expected: shortened(expected),
  found: shortened(found),
});

const isSame = (one: KeptFinding, other: Finding): boolean =>
  one.what === other.what && one.where === other.where && one.expected === other.expected && one.found === other.found;
