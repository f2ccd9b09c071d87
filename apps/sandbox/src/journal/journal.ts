import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExportTask } from '../exports/exports.js';
import type { AwaitingEntry } from '../registries/awaiting.js';
import type { Decision } from '../suspensions/suspensions.js';
import type { NewAccountRecord } from '../accounts/new-account.js';
import { lockFolder } from './lock.js';

/** What happened, in the order in which it happened. Every record is written before anybody can see its effect. */
export type JournalRecord =
  /** A stand of the clocks: everything due until the virtual moment is processed. `s`: speed. */
  | { k: 'clock'; v: number; w: number; s: number }
  /** A document was accepted. `d`: its bytes in base64. */
  | {
      k: 'document';
      id: string;
      r: string;
      a: string;
      v: number;
      w: number;
      due: number;
      bulk: boolean;
      mask: number;
      late: number;
      /**
       * For how long its receipt says that the answer could not be prepared; it is not found; it is in no list.
       */
      transient?: number;
      hide?: number;
      unlisted?: number;
      h: string;
      d: string;
      /** Signature in base64; absent where a user signs nothing. */
      s?: string;
    }
  /** A group was started: its members in order, the time that each takes, and whether a partial result stops it. */
  | { k: 'group'; g: string; ids: string[]; v: number; w: number; ms: number[]; partial: boolean }
  /** A document was taken back by its sender. */
  | { k: 'cancel'; id: string; v: number; w: number }
  /** A large upload was opened: hash that its bytes must have, and the signature over them. */
  | { k: 'large'; id: string; r: string; a: string; v: number; w: number; bulk: boolean; hash: string; s: string }
  /** A part of an upload arrived: where it begins, and how long the whole is said to be. */
  | { k: 'part'; id: string; at: number; total: number; d: string }
  /** The parts so far are worthless: the whole did not have its hash. */
  | { k: 'restart'; id: string }
  /** An upload was completed; the whole document. */
  | {
      k: 'finish';
      id: string;
      v: number;
      w: number;
      due: number;
      mask: number;
      late: number;
      transient?: number;
      hide?: number;
      unlisted?: number;
      h: string;
      d: string;
      s?: string;
    }
  /**
   * A document that did not come through the API: of a simulated participant, a registrar, a fiscal operator or the web
   * cabinet.
   */
  | { k: 'act'; id: string; r: string; from: string; up: number; v: number; w: number; due: number; d: string }
  /** A participant is told about a document (`of`) by a notification of type `t`. */
  | {
      k: 'notice';
      id: string;
      of: string;
      to: string;
      t: number;
      v: number;
      w: number;
      unlisted?: number;
      meta: NoticeMeta;
    }
  /** An incoming document was fetched. */
  | { k: 'read'; id: string }
  /** A request_id was sent once more and refused. */
  | { k: 'repeat'; r: string }
  /** A document from a simulated participant. */
  | {
      k: 'incoming';
      id: string;
      r: string;
      from: string;
      to: string;
      v: number;
      w: number;
      unlisted?: number;
      d: string;
    }
  | { k: 'plant'; body: unknown; v: number; w: number }
  /** A decision of suspension, or its cancelling. */
  | { k: 'suspension'; decision: Decision; v: number; w: number }
  /** Expired packs were written off. */
  | { k: 'write_off'; sgtins: string[]; v: number; w: number }
  /** An export was ordered, or its result deleted. */
  | { k: 'export'; task: ExportTask; v: number; w: number }
  | { k: 'export_delete'; id: string }
  /** A sale or disposal that awaits its withdrawal. */
  | { k: 'awaiting'; entry: AwaitingEntry; v: number; w: number }
  /** A user was made known by the control port. */
  | { k: 'account'; account: NewAccountRecord }
  /** A user was blocked (`b`), or let in again. */
  | { k: 'block'; a: string; b: boolean }
  /** The rights of a user from here on. */
  | { k: 'rights'; a: string; rights: string[] }
  /** Whom a participant trusts, or does not any more. */
  | { k: 'trust'; participant: string; partners: string[]; trusts: boolean }
  /** A token was given; `h`: its SHA-256, never the token itself. */
  | { k: 'token'; h: string; a: string; v: number }
  /** A token was used; written once a minute at the most. */
  | { k: 'token_use'; h: string; v: number }
  | { k: 'logout'; h: string };

export type RecordOf<Kind extends JournalRecord['k']> = Extract<JournalRecord, { k: Kind }>;
/** Where a record lies in the file. */
export type Place = { offset: number; length: number };

/** What a notification shows of its origin. */
type NoticeMeta = Record<'docNum' | 'subject' | 'counterparty' | 'version', string | undefined>;

const CHUNK_BYTES = 1 << 20;
const MAX_LINE_BYTES = 64 << 20;
const NEWLINE = 10;

/**
 * An append-only file of JSON lines. A record is in the file when `append` returns, so it survives `kill -9` of the
 * process (not the loss of power: nothing is forced to the disk). A line that was torn by a kill is dropped at the next
 * opening. Without a folder the file is a temporary one, and only serves to keep the documents' bytes out of memory.
 */
export class Journal {
  private constructor(
    private readonly file: number,
    private size: number,
    private readonly release: () => void,
  ) {}

  /**
   * Opens the journal of a folder, alone, and hands over what it holds. Throws an Error that names the line at fault.
   */
  static open(folder: string | undefined, replay: (record: JournalRecord, at: Place) => void): Journal {
    if (folder === undefined) return Journal.temporary();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const unlock = lockFolder(folder);
    try {
      const path = join(folder, 'journal.ndjson');
      const file = openSync(path, existsSync(path) ? 'r+' : 'wx+', 0o600);
      const size = readLines(file, path, replay);
      ftruncateSync(file, size);
      return new Journal(file, size, unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  }

  private static temporary(): Journal {
    const folder = mkdtempSync(join(tmpdir(), 'pedigree-sandbox-'));
    const file = openSync(join(folder, 'journal.ndjson'), 'wx+', 0o600);
    try {
      // An open file without a name ends with the process, however it ends.
      rmSync(folder, { recursive: true });
      return new Journal(file, 0, () => undefined);
    } catch {
      return new Journal(file, 0, () => rmSync(folder, { recursive: true, force: true }));
    }
  }

  /** Writes a record; returns where it lies. */
  append(record: JournalRecord): { offset: number; length: number } {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    const offset = this.size;
    for (let written = 0; written < line.length;)
      written += writeSync(this.file, line, written, line.length - written, offset + written);
    this.size = offset + line.length;
    return { offset, length: line.length };
  }

  /** The bytes of a document whose record lies there. */
  documentBytes(at: { offset: number; length: number }): Buffer {
    const record = this.recordAt(at);
    if (!('d' in record)) throw new Error(`there is no document at ${at.offset} of the journal`);
    return Buffer.from(record.d, 'base64');
  }

  /** The signature that came with it, in base64. */
  signature(at: { offset: number; length: number }): string | undefined {
    const record = this.recordAt(at);
    return 's' in record && typeof record.s === 'string' && record.s !== '' ? record.s : undefined;
  }

  private recordAt(at: { offset: number; length: number }): JournalRecord {
    const line = Buffer.allocUnsafe(at.length);
    if (readSync(this.file, line, 0, at.length, at.offset) !== at.length)
      throw new Error('the journal is shorter than it was');
    return JSON.parse(line.toString('utf8')) as JournalRecord;
  }

  close(): void {
    closeSync(this.file);
    this.release();
  }
}

/** Reads every whole line; returns where the last of them ends. */
function readLines(file: number, path: string, replay: (record: JournalRecord, at: Place) => void): number {
  const total = fstatSync(file).size;
  let rest = Buffer.alloc(0);
  let offset = 0;
  let line = 0;
  for (let position = 0; position < total;) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, total - position));
    position += readSync(file, chunk, 0, chunk.length, position);
    rest = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, from)) {
      line += 1;
      replay(parseLine(rest.subarray(from, end), path, line), { offset, length: end + 1 - from });
      offset += end + 1 - from;
      from = end + 1;
    }
    rest = rest.subarray(from);
    if (rest.length > MAX_LINE_BYTES)
      throw new Error(`${path}: line ${line + 1} is longer than ${MAX_LINE_BYTES} bytes`);
  }
  return offset;
}

function parseLine(bytes: Buffer, path: string, line: number): JournalRecord {
  try {
    return JSON.parse(bytes.toString('utf8')) as JournalRecord;
  } catch (error) {
    throw new Error(`${path}: line ${line} is damaged: ${(error as Error).message}`, { cause: error });
  }
}
