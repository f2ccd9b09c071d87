import type { CheckedEvent } from './entry.js';

/** The form of leaves changes once in a tree: no leaf of the older form comes behind one of the newer. */
export class FormOrder {
  private lastWhole = -1;
  private firstDigests = Infinity;
  private begins: number | undefined;

  take({ leaf, form }: Pick<CheckedEvent, 'leaf' | 'form'>): void {
    if (form === 1) this.lastWhole = Math.max(this.lastWhole, leaf);
    else this.firstDigests = Math.min(this.firstDigests, leaf);
    this.hold();
  }

  /** What the auditor signed of where the newer form begins. */
  begin(leaf: number): void {
    this.begins ??= leaf;
    this.hold();
  }

  private hold(): void {
    const { lastWhole, firstDigests, begins = firstDigests } = this;
    if (lastWhole >= Math.min(firstDigests, begins))
      throw new Error(
        `leaf ${lastWhole} has the older form, and leaves name digests from ${Math.min(firstDigests, begins)} on`,
      );
    if (firstDigests < begins) throw new Error(`leaf ${firstDigests} names digests, which leaves do from ${begins} on`);
  }
}
