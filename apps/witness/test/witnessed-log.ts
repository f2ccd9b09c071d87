import {
  addCheckpointText,
  checkpointText,
  leafHash,
  newSigningKey,
  noteSigner,
  parseVerifierKey,
  proveConsistency,
  rootOf,
  signNote,
  treeInMemory,
  verifierKeyOf,
  type Hash,
  type NoteSigner,
  type ReadHashes,
} from '#merkle';

/** A log in memory that can show any of its sizes, and can be forked: what somebody who has its key could do. */
export class WitnessedLog {
  private constructor(
    readonly signer: NoteSigner,
    private readonly read: ReadHashes,
  ) {}

  /** `story` is told by every leaf from `forkAt` on: logs of other stories differ from there. */
  static of(
    leaves: number,
    { signer = noteSigner('pedigree.example/log', newSigningKey()), forkAt = 0, story = '' } = {},
  ): WitnessedLog {
    const data = Array.from({ length: leaves }, (_, n) => leafHash(Buffer.from(`${n}${n < forkAt ? '' : story}`)));
    return new WitnessedLog(signer, treeInMemory(data).read);
  }

  /** The same log up to a leaf, and other leaves from there on, under the same key. */
  static fork(from: WitnessedLog, forkAt: number, leaves: number): WitnessedLog {
    return WitnessedLog.of(leaves, { signer: from.signer, forkAt, story: ' forged' });
  }

  get key() {
    return parseVerifierKey(verifierKeyOf(this.signer));
  }

  async text(size: number): Promise<string> {
    return checkpointText({ origin: this.signer.name, size, root: await rootOf(size, this.read) });
  }

  async note(size: number): Promise<string> {
    return signNote(await this.text(size), this.signer);
  }

  path(old: number, size: number): Promise<Hash[]> {
    return old === 0 ? Promise.resolve([]) : proveConsistency(old, size, this.read);
  }

  /** What a witness is asked with. */
  async request(old: number, size: number): Promise<string> {
    return addCheckpointText({ old, path: await this.path(old, size), note: await this.note(size) });
  }
}
