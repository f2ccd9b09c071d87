import type { Queryable } from '#postgres';
import { TokenCipher } from '../session/token-cipher.js';

/** An announced document's place at the registry, and how many of its bytes are there for certain. */
export interface OpenUpload {
  documentId: string;
  link: string;
  uploadedBytes: number;
}

/** Keeps what the announcement of a large document said, over crashes and for all processes. */
export interface UploadLinks {
  keep(requestId: string, upload: OpenUpload): Promise<void>;
  /** Undefined when nothing was kept, or it was sealed with another key. */
  find(requestId: string): Promise<OpenUpload | undefined>;
  forget(requestId: string): Promise<void>;
}

/** The link may bear a secret, so it is sealed like a token, and is in no event and no evidence. */
export class PostgresUploadLinks implements UploadLinks {
  private readonly cipher: TokenCipher;

  /** @param options.key 32 bytes, for the encryption at rest. */
  constructor(
    private readonly db: Queryable,
    options: { key: Uint8Array },
  ) {
    this.cipher = new TokenCipher(options.key);
  }

  async keep(requestId: string, { documentId, link, uploadedBytes }: OpenUpload): Promise<void> {
    await this.db.query(
      `INSERT INTO upload_link (request_id, document_id, link_cipher, uploaded_bytes) VALUES ($1, $2, $3, $4)
       ON CONFLICT (request_id) DO UPDATE SET document_id = $2, link_cipher = $3, uploaded_bytes = $4, kept_at = now()`,
      [requestId, documentId, this.cipher.seal(sealFor(requestId), link), uploadedBytes],
    );
  }

  async find(requestId: string): Promise<OpenUpload | undefined> {
    const { rows } = await this.db.query<{ document_id: string; link_cipher: Buffer; uploaded_bytes: bigint }>(
      'SELECT document_id, link_cipher, uploaded_bytes FROM upload_link WHERE request_id = $1',
      [requestId],
    );
    const [row] = rows;
    const link = row === undefined ? undefined : this.cipher.open(sealFor(requestId), row.link_cipher);
    return row === undefined || link === undefined
      ? undefined
      : { documentId: row.document_id, link, uploadedBytes: Number(row.uploaded_bytes) };
  }

  async forget(requestId: string): Promise<void> {
    await this.db.query('DELETE FROM upload_link WHERE request_id = $1', [requestId]);
  }
}

/** An upload's name cannot be that of an account, so that neither is taken for the other. */
const sealFor = (requestId: string): string => `upload ${requestId}`;
