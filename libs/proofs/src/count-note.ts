import { signNote, type Hash, type NoteSigner } from '#merkle';

/** What the auditor says of the streams in the first leaves of its log. */
export interface StreamCounts {
  /** So many leaves are counted: those before leaf `leaves`. */
  leaves: number;
  /** So many streams have an event in them. */
  streams: number;
  /** Of the tree of buckets. */
  root: Hash;
  /** The first leaf that names digests (`LeafForm` 2); `leaves` where none of them does. */
  digestsFrom: number;
}

/** Of the stream in which the auditor publishes its counts, and of the event that has one. */
export const COUNT_STREAM = 'audit-counts';
export const COUNTS_SEALED = 'StreamCountsSealed';

/** A note of its own. Its second line is not a number, so that nobody takes it for a checkpoint. */
export const signCounts = ({ leaves, streams, root, digestsFrom }: StreamCounts, signer: NoteSigner): string =>
  signNote(
    [
      signer.name,
      'stream counts',
      `leaves ${leaves}`,
      `streams ${streams}`,
      `root ${root.toString('base64')}`,
      `digests from ${digestsFrom}`,
      '',
    ].join('\n'),
    signer,
  );

const NUMBER = '(0|[1-9]\\d{0,14})';
const TEXT = new RegExp(
  `^([^\\n]+)\\nstream counts\\nleaves ${NUMBER}\\nstreams ${NUMBER}\\nroot ([A-Za-z0-9+/]{43}=)\\n` +
    `digests from ${NUMBER}\\n$`,
);

/** Reads the text of such a note, of the log that is called so. Throws where it is none. */
export function parseCounts(text: string, origin: string): StreamCounts {
  const [, of, leaves, streams, root, digestsFrom] = TEXT.exec(text) ?? [];
  if (of === undefined) throw new Error('this is not a note of counts');
  if (of !== origin) throw new Error(`the counts are of the log ${of}, and the checkpoint is of ${origin}`);
  return {
    leaves: Number(leaves),
    streams: Number(streams),
    root: Buffer.from(root as string, 'base64'),
    digestsFrom: Number(digestsFrom),
  };
}
