import { mkdirSync, readFileSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { StockUploaded } from '#domain';
import { digestOfFile } from '#duckdb';
import type { Actor } from '#event-store';
import { defined, PedigreeError, sha256Hex, uuid5, wordsOf, type Clock, type Sha256 } from '#kernel';
import { isToCome, uploadedName } from '#reconciliation';
import { syncFolder, unnamedOf, writeDurably, type Trouble } from '#service';
import { PART_BYTES } from '../api/body-limits.js';
import { lookAgain } from '../watch/look-again.js';
import { FOLDER, inWords } from './folder-troubles.js';
import { joinParts, keepPart, numbersIn, partsIn, type PartShown } from './part-files.js';

export const MOST_FILE_BYTES = 4 * 1024 * 1024 * 1024;
export const MOST_OPEN = 16;
const HOUR_MS = 3_600_000;
export const OPEN_KEPT_HOURS = 72;
/** So long it is remembered that an upload was finished. */
export const FINISHED_KEPT_DAYS = 30;
/** The note of a finished upload. */
const FINISHED = /^[0-9a-f-]{36}\.json$/;
/** Files whose lines are counted. */
const TEXT = /\.(csv|tsv|txt|ndjson|jsonl)$/i;
/** Names of one folder that a sweep looks at. */
const MOST_SWEPT = 10_000;

/** The file as its sender has it. */
export interface StockFile {
  name: string;
  bytes: number;
  sha256: Sha256;
  /** When the stock was true. Null: when the upload is finished. */
  moment: string | null;
}

interface Upload extends StockFile {
  uploadId: string;
  openedAt: string;
  openedBy: string;
}

interface Finished extends Upload {
  /** Name of the file in the folder. */
  file: string;
  finishedAt: string;
  finishedBy: string;
}

type UploadShown = Upload & { partBytes: number; parts: number } & (
    | { state: 'open'; received: PartShown[]; missing: number[]; removedAfter: string }
    | ({ state: 'finished' } & Pick<Finished, 'file' | 'finishedAt' | 'finishedBy'>)
  );

export interface StockUploadsOptions {
  /** Folder from which the reconciler takes stock files. Absent: none are taken. */
  folder: string | undefined;
  /** Writes down that a file came, before anybody sees it; the same upload again changes nothing. */
  record(uploaded: StockUploaded['data'], actor: Actor): Promise<void>;
  clock: Clock;
  log: { info(about: object, message: string): void; warn(about: object, message: string): void };
  /** For tests; the usual ones are the constants above. */
  limits?: { partBytes?: number; mostFileBytes?: number; mostOpen?: number };
}

/** Of ids of uploads (RFC 9562, version 5). */
const NAMESPACE = '0c6f3d52-7f0b-4b8e-9f57-2f1c6a9be0d4';

/** The same file under the same name is the same upload for ever. */
export const stockUploadId = ({ name, bytes, sha256, moment }: StockFile): string =>
  uuid5(JSON.stringify([name, bytes, sha256, moment]), NAMESPACE);

/**
 * Stock files that come in parts. All that is known of an upload lies in `.uploads` of the folder: `open/<id>` with its
 * parts, then `finished/<id>.json`. So it goes on after a restart, and at another gateway that has the folder. The
 * reconciler looks at no folders, and sees the file only when it is whole.
 */
export class StockUploads {
  readonly partBytes: number;
  private readonly mostFileBytes: number;
  private readonly mostOpen: number;
  /** Of this gateway. Two that do the same do not do it twice. */
  private readonly finishing = new Map<string, Promise<UploadShown>>();
  /** Why the last sweep failed. */
  private unswept: Trouble | undefined;

  constructor(private readonly options: StockUploadsOptions) {
    const { partBytes = PART_BYTES, mostFileBytes = MOST_FILE_BYTES, mostOpen = MOST_OPEN } = options.limits ?? {};
    [this.partBytes, this.mostFileBytes, this.mostOpen] = [partBytes, mostFileBytes, mostOpen];
  }

  /** As `opened`, and how it stands. */
  async begin(file: StockFile, actor: Actor): Promise<UploadShown> {
    return this.one(await this.opened(file, actor));
  }

  /**
   * Begins an upload, or goes on with it. Returns its id.
   * @throws PedigreeError invalid_command, backlog_full, not_found, unavailable.
   */
  async opened(file: StockFile, actor: Actor): Promise<string> {
    if (file.bytes > this.mostFileBytes)
      throw new PedigreeError('invalid_command', `/bytes: a stock file has at most ${this.mostFileBytes} bytes`, {
        field: '/bytes',
        item: String(file.bytes),
      });
    if (file.moment !== null && isToCome(file.moment, this.options.clock.now()))
      throw new PedigreeError('invalid_command', '/moment: is to come; when was the stock true?', {
        ...{ field: '/moment', item: file.moment },
      });
    return this.inFolder(async () => {
      const uploadId = stockUploadId(file);
      if (this.find(uploadId) === undefined) await this.open({ ...file, uploadId }, actor);
      return uploadId;
    });
  }

  private async open(file: StockFile & { uploadId: string }, actor: Actor): Promise<void> {
    const { uploadId } = file;
    const open = (await readdir(this.path('open'))).length;
    if (open >= this.mostOpen) throw tooManyOpen(open);
    const openedAt = this.options.clock.now().toISOString();
    makeFolder(this.path('open', uploadId));
    const upload: Upload = { ...file, openedAt, openedBy: actor.name };
    writeDurably(this.path('open', uploadId, 'upload.json'), JSON.stringify(upload));
    syncFolder(this.path('open'));
  }

  /** @throws PedigreeError not_found, unavailable. */
  one(uploadId: string): Promise<UploadShown> {
    return this.inFolder(() => this.shown(this.found(uploadId)));
  }

  /**
   * Keeps a part. The same again changes nothing; another takes its place. One that comes after the end is not needed.
   * @throws PedigreeError invalid_parameter, not_found, unavailable.
   */
  async put(uploadId: string, n: number, { bytes, sha256 }: { bytes: Buffer; sha256: Sha256 }): Promise<void> {
    await this.inFolder(async () => {
      const upload = this.found(uploadId);
      const parts = this.partsOf(upload);
      if (n < 1 || n > parts) throw wrong('n', `there is no part ${n}: the parts are 1 to ${parts}`);
      const length = n < parts ? this.partBytes : upload.bytes - (parts - 1) * this.partBytes;
      if (bytes.length !== length)
        throw wrong('Content-Length', `part ${n} of ${parts} has ${length} bytes, and ${bytes.length} came`);
      const came = sha256Hex(bytes);
      if (came !== sha256)
        throw wrong('Content-Digest', `part ${n}: the SHA-256 of the bytes that came is ${came}, not ${sha256}`);
      if (!('file' in upload)) await keepPart(this.path('open', uploadId), n, bytes);
    });
  }

  /** Whether all is there: a finished one needs no more. @throws PedigreeError not_found, unavailable. */
  isWhole(uploadId: string): Promise<boolean> {
    return this.inFolder(async () => {
      const upload = this.found(uploadId);
      return 'file' in upload || (await numbersIn(this.path('open', uploadId))).length === this.partsOf(upload);
    });
  }

  /** Removes an upload that is not finished, with its parts. */
  async remove(uploadId: string): Promise<void> {
    await this.inFolder(() => rm(this.path('open', uploadId), { recursive: true, force: true }));
  }

  /**
   * Gives the file to the reconciler when all of it is there. A finished one is answered as before.
   * @throws PedigreeError upload_conflict, not_found, unavailable.
   */
  finish(uploadId: string, actor: Actor): Promise<UploadShown> {
    const under = this.finishing.get(uploadId);
    if (under !== undefined) return under;
    const work = this.inFolder(async () => {
      const upload = this.found(uploadId);
      return this.shown('file' in upload ? upload : await this.handOver(upload, actor));
    }).finally(() => this.finishing.delete(uploadId));
    this.finishing.set(uploadId, work);
    return work;
  }

  /**
   * A crash at any moment leaves no file for the reconciler or the whole one: 1. joined under a name that nobody reads,
   * and forced to the disk; 2. recorded in the log; 3. renamed into the folder; 4. the folder forced to the disk;
   * 5. noted as finished; 6. the parts removed. What is done again after a crash finds the file of step 3 there.
   */
  private async handOver(upload: Upload, actor: Actor): Promise<Finished> {
    const { uploadId, sha256, name, bytes } = upload;
    const file = uploadedName(upload);
    const target = join(this.folder(), file);
    if (await isThere(target, sha256)) await this.record(upload, { file, actor });
    else await this.joinInto(target, upload, (lines) => this.record(upload, { file, actor, lines }));
    syncFolder(this.folder());
    const finishedAt = this.options.clock.now().toISOString();
    const finished: Finished = { ...upload, file, finishedAt, finishedBy: actor.name };
    writeDurably(this.path('finished', `${uploadId}.json`), JSON.stringify(finished));
    // Another gateway may be writing there: then the sweep removes what is left.
    await rm(this.path('open', uploadId), { recursive: true, force: true }).catch(() => undefined);
    this.options.log.info({ uploadId, name, file, sha256, bytes, by: actor.name }, 'a stock file was uploaded');
    return finished;
  }

  private async joinInto(target: string, upload: Upload, record: (lines: number) => Promise<void>): Promise<void> {
    const { uploadId, sha256, bytes, moment } = upload;
    const own = this.path('open', uploadId);
    const missing = missingOf(this.partsOf(upload), await partsIn(own));
    if (missing.length > 0) throw conflict(uploadId, `${missing.length} parts are missing: ${someOf(missing)}`);
    const whole = unnamedOf(join(own, 'whole'));
    try {
      const joined = await joinParts(own, this.partsOf(upload), whole);
      if (joined.sha256 !== sha256 || joined.bytes !== bytes) throw conflict(uploadId, notTheFile(joined, upload));
      if (moment !== null) await utimes(whole, new Date(moment), new Date(moment));
      await record(joined.lines);
      await rename(whole, target);
    } finally {
      await rm(whole, { force: true });
    }
  }

  private record(
    upload: Upload,
    { file, actor, lines }: { file: string; actor: Actor; lines?: number },
  ): Promise<void> {
    const { uploadId, name, bytes: byteLength, sha256: fileSha256, moment, openedAt, openedBy } = upload;
    const more = { lines: TEXT.test(name) ? lines : undefined, moment: moment ?? undefined };
    return this.options.record(
      { uploadId, name, file, byteLength, fileSha256, ...defined(more), openedAt, openedBy },
      actor,
    );
  }

  /** Removes what is too old, and what a crash has left. @throws Error that names what it could not, at its end. */
  async sweep(): Promise<void> {
    const failed = [
      ...(await this.sweepEach('open', (id) => this.sweepOpen(id))),
      ...(await this.sweepEach('finished', (name) => this.sweepFinished(name))),
    ];
    if (failed.length > 0) throw new Error(`${failed.length} entries cannot be swept: ${someOf(failed)}`);
  }

  private async sweepEach(of: 'open' | 'finished', work: (name: string) => Promise<void>): Promise<string[]> {
    const failed: string[] = [];
    for (const name of (await readdir(this.path(of))).slice(0, MOST_SWEPT))
      await work(name).catch((error: unknown) => failed.push(`${of}/${name} (${wordsOf(error)})`));
    return failed;
  }

  private async sweepOpen(id: string): Promise<void> {
    if (this.finishing.has(id)) return;
    const path = this.path('open', id);
    const found = await stat(path);
    const upload = found.isDirectory() ? this.find(id) : undefined;
    const isDone = upload !== undefined && 'file' in upload;
    if (!isDone && !this.isOlder(upload?.openedAt ?? found.mtime, OPEN_KEPT_HOURS)) return;
    await rm(path, { recursive: true, force: true });
    if (!isDone) this.options.log.warn({ uploadId: id }, `removed the unfinished upload ${id}`);
  }

  /** A crash while the note was written leaves a file of another name, perhaps an empty one. */
  private async sweepFinished(name: string): Promise<void> {
    const path = this.path('finished', name);
    const [at, keptHours] = FINISHED.test(name)
      ? [readJson<Finished>(path)?.finishedAt, FINISHED_KEPT_DAYS * 24]
      : [(await stat(path)).mtime, OPEN_KEPT_HOURS];
    if (at !== undefined && this.isOlder(at, keptHours)) await rm(path, { recursive: true, force: true });
  }

  private isOlder(at: string | Date, hours: number): boolean {
    return new Date(at).getTime() + hours * HOUR_MS <= this.options.clock.now().getTime();
  }

  async watch(signal: AbortSignal): Promise<void> {
    if (this.options.folder === undefined) return;
    const { clock, log } = this.options;
    const failure = 'uploads of stock files could not be swept';
    const look = async (): Promise<void> => {
      try {
        await this.inFolder(() => this.sweep());
        this.unswept = undefined;
      } catch (error) {
        const since = this.unswept?.since ?? clock.now().toISOString();
        this.unswept = { name: 'stock-uploads', since, reason: `${failure}: ${wordsOf(error)}` };
        throw error;
      }
    };
    await lookAgain(look, { everyMs: HOUR_MS, clock, signal, log, failure });
  }

  /** What was wrong when it was swept last. All else is said to whoever uploads. */
  troubles(): Trouble[] {
    return this.unswept === undefined ? [] : [this.unswept];
  }

  private partsOf = ({ bytes }: StockFile): number => Math.ceil(bytes / this.partBytes);

  private find(uploadId: string): Upload | Finished | undefined {
    const finished = readJson<Finished>(this.path('finished', `${uploadId}.json`));
    return finished ?? readJson<Upload>(this.path('open', uploadId, 'upload.json'));
  }

  private found(uploadId: string): Upload | Finished {
    const upload = this.find(uploadId);
    if (upload !== undefined) return upload;
    const message = `there is no upload ${uploadId}; an unfinished one is removed after ${OPEN_KEPT_HOURS} hours`;
    throw new PedigreeError('not_found', message, { field: 'uploadId', item: uploadId });
  }

  private async shown(upload: Upload | Finished): Promise<UploadShown> {
    const parts = this.partsOf(upload);
    const both = { ...upload, partBytes: this.partBytes, parts };
    if ('file' in both) return { ...both, state: 'finished' };
    const received = await partsIn(this.path('open', upload.uploadId));
    const removedAfter = new Date(Date.parse(upload.openedAt) + OPEN_KEPT_HOURS * HOUR_MS).toISOString();
    return { ...both, state: 'open', received, missing: missingOf(parts, received), removedAfter };
  }

  private folder(): string {
    const { folder } = this.options;
    if (folder !== undefined) return folder;
    throw new PedigreeError('not_found', 'this gateway takes no stock files: RECONCILE_STOCK_FOLDER is not set for it');
  }

  private path(...names: string[]): string {
    return join(this.folder(), '.uploads', ...names);
  }

  /** The folder itself is never made: where it is away, files would go to a disk that the reconciler does not see. */
  private async inFolder<T>(work: () => Promise<T>): Promise<T> {
    const folder = this.folder();
    try {
      if (!(await stat(folder)).isDirectory()) throw new PedigreeError('unavailable', `${FOLDER} is not a folder`);
      for (const path of [this.path(), this.path('open'), this.path('finished')]) makeFolder(path);
      return await work();
    } catch (error) {
      throw inWords(error);
    }
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isThere(file: string, sha256: Sha256): Promise<boolean> {
  if ((await stat(file).catch(() => undefined)) === undefined) return false;
  if ((await digestOfFile(file)).sha256 === sha256) return true;
  throw new PedigreeError('upload_conflict', 'a file of this name is there, and has other content', {
    item: basename(file),
  });
}

const missingOf = (parts: number, received: PartShown[]): number[] => {
  const there = new Set(received.map(({ n }) => n));
  return Array.from({ length: parts }, (_, index) => index + 1).filter((n) => !there.has(n));
};

const someOf = (all: (number | string)[]): string => all.slice(0, 10).join(', ') + (all.length > 10 ? ' and more' : '');

const notTheFile = (joined: { bytes: number; sha256: Sha256 }, { bytes, sha256 }: StockFile): string =>
  `the parts together have ${joined.bytes} bytes and the SHA-256 ${joined.sha256}, not ${bytes} and ${sha256}: ` +
  'compare the digests of the parts, and send those again that differ';

const conflict = (item: string, why: string): PedigreeError => new PedigreeError('upload_conflict', why, { item });
const wrong = (field: string, why: string): PedigreeError => new PedigreeError('invalid_parameter', why, { field });
const tooManyOpen = (open: number): PedigreeError =>
  new PedigreeError('backlog_full', `${open} uploads are open; finish one of them first, or try again later`);
