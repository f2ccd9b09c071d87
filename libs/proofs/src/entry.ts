import { canonicalJson, sha256Hex } from '#kernel';
import { InclusionChecks, leafHash, TlogProofs, type Checkpoint } from '#merkle';
import { LEAF_FORMAT, type LeafForm } from './leaf.js';
import type { ProvenEvent } from './bundle.js';

/** An event whose leaf is in the signed log. */
export interface CheckedEvent {
  leaf: number;
  form: LeafForm;
  id: string;
  schemaVersion: number;
  stream: string;
  version: number;
  type: string;
  recordedAt: string;
  /** RFC 8785 JSON. */
  data: string;
  metadata: string;
}

interface Entry {
  format?: string;
  id: string;
  schemaVersion: number;
  stream: string;
  version: number;
  type: string;
  recordedAt: string;
  data?: object;
  metadata?: object;
  dataSha256?: string;
  metadataSha256?: string;
}

/** Checks events against one checkpoint. */
export class EntryChecks {
  private readonly proofs = new TlogProofs();
  private readonly log: InclusionChecks;

  constructor({ size, root }: Checkpoint) {
    this.log = new InclusionChecks(size, root);
  }

  /**
   * The event of a leaf, after its proof led to the root, and its content had the digests that the leaf names. Throws
   * an Error that says what does not hold.
   */
  event({ entry, data, metadata, proof }: ProvenEvent): CheckedEvent {
    const { index, path } = this.proofs.parse(proof);
    if (!this.log.holds({ leaf: leafHash(Buffer.from(entry, 'utf8')), index, path }))
      throw new Error('is not the leaf of the signed log that it claims to be');
    const said = JSON.parse(entry) as Entry;
    if (canonicalJson(said) !== entry) throw new Error('is not canonical JSON (RFC 8785)');
    const { id, stream, version, type, schemaVersion, recordedAt } = said;
    const of = { leaf: index, id, stream, version, type, schemaVersion, recordedAt };
    if (said.format === undefined) return { ...of, form: 1, ...wholeEntry(said, { data, metadata }) };
    if (said.format !== LEAF_FORMAT)
      throw new Error(`the leaf has the form ${said.format}, which this version does not know`);
    return { ...of, form: 2, ...named(said, { data, metadata }) };
  }
}

type Content = Pick<ProvenEvent, 'data' | 'metadata'>;
type KnownContent = Pick<CheckedEvent, 'data' | 'metadata'>;

/** Content beside a leaf that has its own would be proven by nothing. */
function wholeEntry(said: Entry, { data, metadata }: Content): KnownContent {
  if (data !== undefined || metadata !== undefined)
    throw new Error('has data or metadata beside a leaf that has them itself');
  return { data: canonicalJson(said.data), metadata: canonicalJson(said.metadata) };
}

function named({ dataSha256, metadataSha256 }: Entry, { data, metadata }: Content): KnownContent {
  if (data === undefined || metadata === undefined)
    throw new Error('the data or metadata that the leaf names is not here');
  if (sha256Hex(data) !== dataSha256) throw new Error('the data is not what the leaf names by digest');
  if (sha256Hex(metadata) !== metadataSha256) throw new Error('the metadata is not what the leaf names by digest');
  return { data, metadata };
}
