import {
  openCheckpoint,
  openNote,
  parseVerifierKey,
  verifierKeyOf,
  verifierOf,
  type Checkpoint,
  type NoteSigner,
  type NoteVerifier,
} from '#merkle';

/**
 * What the log is called after so many breaks. A log must never sign what contradicts its own checkpoints (C2SP
 * tlog-checkpoint, Signatures), so a break begins a log of another name under the same key.
 */
export const originAfter = (origin: string, breaks: number): string =>
  breaks === 0 ? origin : `${origin}/${breaks + 1}`;

const after = (key: NoteVerifier, breaks: number): NoteVerifier =>
  breaks === 0 ? key : verifierOf(originAfter(key.name, breaks), key.publicKey);

/** The checkpoint that the key signed after so many breaks. Throws when it did not. */
const openCheckpointAfter = (note: string, key: NoteVerifier, breaks: number): Checkpoint =>
  openCheckpoint(note, after(key, breaks));

/** The text of a note that the key signed after so many breaks. Throws when it did not. */
const openNoteAfter = (note: string, key: NoteVerifier, breaks: number): string => openNote(note, after(key, breaks));

/** The text of a break that the key signed, of the log that has the key's name. Throws when it is not. */
function openBreakNote(note: string, key: NoteVerifier): string {
  const text = openNote(note, key);
  if (!text.startsWith(`${key.name}\n`)) throw new Error(`the break is not one of the log ${key.name}`);
  return text;
}

/** Keys of one log, of which each is believed: the one that signs now, and those that did before. */
export class VerifierKeys {
  /** The first of them has the name of the log. */
  constructor(private readonly known: NoteVerifier[]) {}

  /** Verifier keys of one log, with blanks or line ends between. Throws where one is none, or is of another log. */
  static parse(text: string): VerifierKeys {
    const known = text.trim().split(/\s+/).map(parseVerifierKey);
    if (new Set(known.map(({ name }) => name)).size > 1) throw new Error('these are keys of several logs');
    return new VerifierKeys(known);
  }

  /** What the log was called before its first break. */
  get origin(): string {
    return (this.known[0] as NoteVerifier).name;
  }

  openCheckpoint(note: string, breaks: number): Checkpoint {
    return this.byOneOf((key) => openCheckpointAfter(note, key, breaks));
  }

  /** The text of a note that is neither a checkpoint nor a break. */
  openNote(note: string, breaks: number): string {
    return this.byOneOf((key) => openNoteAfter(note, key, breaks));
  }

  openBreak(note: string): string {
    return this.byOneOf((key) => openBreakNote(note, key));
  }

  /** Throws what the first key says when none fits. */
  private byOneOf<T>(open: (key: NoteVerifier) => T): T {
    const refusals: unknown[] = [];
    for (const key of this.known) {
      try {
        return open(key);
      } catch (error) {
        refusals.push(error);
      }
    }
    throw refusals[0];
  }
}

/** The keys of one auditor: the one that signs, and those that it believes, its own and earlier ones. */
export class LogKeys extends VerifierKeys {
  constructor(
    private readonly signer: NoteSigner,
    trusted: string[] = [],
  ) {
    super([verifierKeyOf(signer), ...trusted].map(parseVerifierKey));
  }

  /** What breaks are signed with: they stand between the trees, under the first name of the log. */
  get breakSigner(): NoteSigner {
    return this.signer;
  }

  signerAfter(breaks: number): NoteSigner {
    return { name: originAfter(this.signer.name, breaks), privateKey: this.signer.privateKey };
  }
}
