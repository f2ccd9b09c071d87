import type { VirtualTime } from '../clock/virtual-time.js';
import type { SandboxSettings } from '../config.js';
import type { Faults } from '../faults/faults.js';
import { Groups, type GroupRecord } from '../groups/groups.js';
import type { Journal, JournalRecord } from '../journal/journal.js';
import type { Account, World } from '../packs/world.js';
import type { Profile } from '../profile.js';
import { documentIdOf, spreadOf } from '../seeded.js';
import { Uploads } from '../uploads/uploads.js';
import type { DocumentStore } from './document-store.js';
import { newDocument, UPLOAD_TYPES, type RegistryDocument } from './document.js';
import { shownStatus } from './metadata.js';
import { noticeXml, type Notice } from './notice.js';
import type { Processing } from './processing.js';
import { readDocument } from './xml.js';

type Place = { offset: number; length: number };
type RecordOf<Kind extends JournalRecord['k']> = Extract<JournalRecord, { k: Kind }>;
const INTAKE_KINDS = [
  'document',
  'incoming',
  'repeat',
  'group',
  'cancel',
  'large',
  'part',
  'restart',
  'finish',
  'act',
  'notice',
  'read',
] as const;
/** Records of what happens to documents. */
export type IntakeRecord = RecordOf<(typeof INTAKE_KINDS)[number]>;
export const isIntakeRecord = (record: JournalRecord): record is IntakeRecord =>
  (INTAKE_KINDS as readonly string[]).includes(record.k);

/** What of the registry the intake needs. */
interface IntakeParts {
  readonly clock: VirtualTime;
  readonly journal: Journal;
  readonly documents: DocumentStore;
  readonly processing: Processing;
  readonly faults: Faults;
  readonly profile: Profile;
  readonly settings: SandboxSettings;
  readonly world: World;
}

/**
 * How documents come to be, by whatever way, and what is done with them before they are processed. Journal first, then
 * the state.
 */
export class Intake {
  readonly uploads = new Uploads();
  readonly groups: Groups;

  constructor(private readonly registry: IntakeParts) {
    this.groups = new Groups((document) => this.process(document));
  }

  /** Takes a document: journal first, then the queue, unless it waits for its group. */
  accept(sent: {
    account: Account;
    requestId: string;
    bulk: boolean;
    xml: Buffer;
    base64: string;
    digest: string;
  }): RegistryDocument {
    const { account, requestId, bulk, xml, base64, digest } = sent;
    const now = this.registry.clock.nowMs();
    const record: RecordOf<'document'> = {
      k: 'document',
      id: documentIdOf(requestId, this.registry.settings.seed),
      r: requestId,
      a: account.name,
      v: now,
      w: Date.now(),
      due: now + this.processingMs(this.registry.documents.nextSeq()),
      bulk,
      ...this.fate(),
      h: digest,
      d: base64,
    };
    return this.addDocument(record, this.registry.journal.append(record), xml);
  }

  /** Delivers a document of a simulated participant as it stands, without any effect. Throws when it cannot be read. */
  deliver(incoming: { id: string; requestId: string; from: string; to: string; xml: Buffer }): RegistryDocument {
    readDocument(incoming.xml);
    const { id, requestId, from, to, xml } = incoming;
    const v = this.registry.processing.drainNow();
    const record: RecordOf<'incoming'> = {
      k: 'incoming',
      id,
      r: requestId,
      from,
      to,
      v,
      w: Date.now(),
      d: xml.toString('base64'),
    };
    return this.addIncoming(record, this.registry.journal.append(record));
  }

  /**
   * Takes a document that did not come through the API; it is processed as any other. Undefined when this id was taken
   * before.
   */
  act(action: {
    id: string;
    requestId: string;
    from: string;
    uploadType: number;
    xml: string;
    atVirtualMs: number;
    afterMs: number;
  }): RegistryDocument | undefined {
    if (this.registry.documents.get(action.id) !== undefined) return undefined;
    const { id, requestId, from, uploadType, xml, atVirtualMs, afterMs } = action;
    const record: RecordOf<'act'> = {
      k: 'act',
      id,
      r: requestId,
      from,
      up: uploadType,
      v: atVirtualMs,
      w: Date.now(),
      due: atVirtualMs + afterMs,
      d: Buffer.from(xml).toString('base64'),
    };
    return this.addAct(record, this.registry.journal.append(record));
  }

  /** Tells a participant about a document. Undefined when he was told before. */
  notify(notice: Notice): RegistryDocument | undefined {
    const { id, origin, to, docType, atVirtualMs } = notice;
    if (this.registry.documents.get(id) !== undefined) return undefined;
    const { docNum, subject, counterparty, version } = origin;
    const meta = { docNum, subject, counterparty, version };
    const record: RecordOf<'notice'> = {
      k: 'notice',
      id,
      of: origin.documentId,
      to,
      t: docType,
      v: atVirtualMs,
      w: Date.now(),
      meta,
    };
    this.registry.journal.append(record);
    return this.addNotice(record);
  }

  openUpload(opened: {
    account: Account;
    requestId: string;
    bulk: boolean;
    hash: string;
    sign: string;
  }): RegistryDocument {
    const { account, requestId, bulk, hash, sign } = opened;
    const id = documentIdOf(requestId, this.registry.settings.seed);
    const record: RecordOf<'large'> = {
      k: 'large',
      id,
      r: requestId,
      a: account.name,
      v: this.registry.clock.nowMs(),
      w: Date.now(),
      bulk,
      hash,
      s: sign,
    };
    return this.addLarge(record, this.registry.journal.append(record));
  }

  putPart(document: RegistryDocument, { at, total, bytes }: { at: number; total: number; bytes: Buffer }): void {
    this.registry.journal.append({ k: 'part', id: document.documentId, at, total, d: bytes.toString('base64') });
    this.uploads.put(document.documentId, { at, total, bytes });
  }

  restartUpload(document: RegistryDocument): void {
    this.registry.journal.append({ k: 'restart', id: document.documentId });
    this.uploads.restart(document.documentId);
  }

  finishUpload(document: RegistryDocument, { xml, digest }: { xml: Buffer; digest: string }): void {
    const v = this.registry.clock.nowMs();
    const due = v + this.processingMs(document.seq);
    const record: RecordOf<'finish'> = {
      k: 'finish',
      id: document.documentId,
      v,
      w: Date.now(),
      due,
      ...this.fate(),
      h: digest,
      d: xml.toString('base64'),
    };
    this.finish(record, this.registry.journal.append(record), xml);
  }

  /** Whether nothing was done with the document yet. */
  isUntouched(document: RegistryDocument, virtualMs: number): boolean {
    if (document.verdict !== undefined) return false;
    if (document.waits !== undefined) return document.waits !== 'group_turn';
    const { profile } = this.registry;
    return (
      document.group === undefined && shownStatus(document, virtualMs, profile) === profile.intermediateStatuses[0]
    );
  }

  cancel(document: RegistryDocument): void {
    const record: RecordOf<'cancel'> = {
      k: 'cancel',
      id: document.documentId,
      v: this.registry.clock.nowMs(),
      w: Date.now(),
    };
    this.registry.journal.append(record);
    this.take(record);
  }

  /** Starts a group, in the order of its members. */
  startGroup(id: string, members: RegistryDocument[]): void {
    const { clock, journal, settings } = this.registry;
    const ms = members.map((member) => this.processingMs(member.seq));
    const ids = members.map((member) => member.documentId);
    const record: GroupRecord = {
      k: 'group',
      g: id,
      ids,
      v: clock.nowMs(),
      w: Date.now(),
      ms,
      partial: settings.partialStopsGroup,
    };
    journal.append(record);
    this.take(record);
  }

  /** An incoming document is new until its receiver has fetched it. */
  markRead(document: RegistryDocument): void {
    if (document.isRead || document.receiver === undefined) return;
    this.registry.journal.append({ k: 'read', id: document.documentId });
    document.isRead = true;
  }

  bytesOf(document: RegistryDocument): Buffer {
    const { noticeOf: origin } = document;
    if (origin !== undefined) return noticeXml(origin, { docType: document.docType ?? 0, xml: this.bytesOf(origin) });
    return document.xml ?? this.registry.journal.documentBytes(document.journalAt);
  }

  /** Does again what a record tells. */
  replay(record: IntakeRecord, at: Place): void {
    switch (record.k) {
      case 'document':
        return void this.addDocument(record, at, Buffer.from(record.d, 'base64'));
      case 'incoming':
        return void this.addIncoming(record, at);
      case 'act':
        return void this.addAct(record, at);
      case 'notice':
        return void this.addNotice(record);
      case 'large':
        return void this.addLarge(record, at);
      case 'part':
        return this.uploads.put(record.id, {
          at: record.at,
          total: record.total,
          bytes: Buffer.from(record.d, 'base64'),
        });
      case 'restart':
        return this.uploads.restart(record.id);
      case 'finish':
        return this.finish(record, at, Buffer.from(record.d, 'base64'));
      case 'repeat':
      case 'group':
      case 'cancel':
      case 'read':
        return this.take(record);
      default:
        throw new Error(`unknown record ${JSON.stringify(record satisfies never)}`);
    }
  }

  private take(record: RecordOf<'repeat' | 'group' | 'cancel' | 'read'>): void {
    const { documents } = this.registry;
    if (record.k === 'group')
      return this.groups.start(
        record,
        record.ids.map((id) => this.known(id)),
      );
    if (record.k === 'read') return void (this.known(record.id).isRead = true);
    if (record.k === 'cancel') return this.markCancelled(this.known(record.id), record);
    const [first] = documents.withRequestId(record.r);
    if (first !== undefined) first.sends += 1;
  }

  private markCancelled(document: RegistryDocument, { v, w }: RecordOf<'cancel'>): void {
    this.uploads.end(document.documentId);
    Object.assign(document, {
      cancelled: true,
      status: 'failed',
      verdict: { kind: 'critical', reason: 'cancelled by its sender' },
      waits: undefined,
    });
    document.dueVirtualMs = v;
    document.changedRealMs = realOf(w);
    document.xml = undefined;
  }

  private addDocument(record: RecordOf<'document'>, at: Place, xml: Buffer): RegistryDocument {
    const document = this.fresh(record, this.participantOf(record.a), at);
    Object.assign(document, { account: record.a, bulk: record.bulk, xml });
    document.dueVirtualMs = record.due;
    this.giveFate(document, record);
    this.registry.documents.add(document);
    this.enqueue(document, record.h);
    return document;
  }

  private addLarge(record: RecordOf<'large'>, at: Place): RegistryDocument {
    const document = this.fresh(record, this.participantOf(record.a), at);
    Object.assign(document, { account: record.a, bulk: record.bulk, waits: 'upload', dueVirtualMs: Infinity });
    this.registry.documents.add(document);
    this.uploads.begin(record.id, { hash: record.hash, sign: record.s });
    return document;
  }

  private finish(record: RecordOf<'finish'>, at: Place, xml: Buffer): void {
    const document = this.known(record.id);
    this.uploads.end(record.id);
    Object.assign(document, {
      journalAt: at,
      xml,
      waits: undefined,
      dueVirtualMs: record.due,
      answeredRealMs: realOf(record.w),
    });
    this.giveFate(document, record);
    this.enqueue(document, record.h);
  }

  private enqueue(document: RegistryDocument, digest: string): void {
    document.bytesKey = `${document.sender} ${digest}`;
    if (!document.bulk) return this.process(document);
    document.waits = 'group_start';
    document.dueVirtualMs = Infinity;
  }

  /** Hands a document to processing, now that its turn has come. */
  process(document: RegistryDocument): void {
    document.repeatsBytes = this.registry.documents.repeatsBytes(document.bytesKey);
    this.registry.processing.add(document);
  }

  private addAct(record: RecordOf<'act'>, at: Place): RegistryDocument {
    const document = this.fresh(record, record.from, at);
    Object.assign(document, { uploadType: record.up, dueVirtualMs: record.due, xml: Buffer.from(record.d, 'base64') });
    this.registry.documents.add(document);
    this.registry.processing.add(document);
    return document;
  }

  private addIncoming(record: RecordOf<'incoming'>, at: Place): RegistryDocument {
    const { docType, version, fields } = readDocument(Buffer.from(record.d, 'base64'));
    const document = this.fresh(record, record.from, at);
    Object.assign(document, {
      receiver: record.to,
      docType,
      version,
      docNum: fields.get('doc_num'),
      subject: fields.get('subject_id'),
    });
    return this.addReady(document);
  }

  private addNotice(record: RecordOf<'notice'>): RegistryDocument {
    const origin = this.known(record.of);
    const document = this.fresh({ ...record, r: origin.requestId }, origin.sender, { offset: 0, length: 0 });
    Object.assign(document, {
      receiver: record.to,
      noticeOf: origin,
      docType: record.t,
      uploadType: UPLOAD_TYPES.api,
      ...record.meta,
    });
    return this.addReady(document);
  }

  /** Incoming documents need no processing: they are what came out of another's. */
  private addReady(document: RegistryDocument): RegistryDocument {
    document.status = 'processed';
    document.changedRealMs = document.answeredRealMs;
    this.registry.documents.add(document);
    return document;
  }

  private fresh(
    { id, r, v, w }: { id: string; r: string; v: number; w: number },
    sender: string,
    journalAt: Place,
  ): RegistryDocument {
    const seq = this.registry.documents.nextSeq();
    return newDocument({
      seq,
      documentId: id,
      requestId: r,
      sender,
      acceptedVirtualMs: v,
      dueVirtualMs: v,
      answeredRealMs: realOf(w),
      journalAt,
    });
  }

  private giveFate(document: RegistryDocument, { mask, late, transient = 0, hide = 0, v }: Fate & { v: number }): void {
    Object.assign(document, {
      maskForMs: mask,
      lateReceiptForMs: late,
      transientForMs: transient,
      hiddenUntilVirtualMs: hide === 0 ? 0 : v + hide,
    });
  }

  /** What misbehaviour has in store for a document. */
  private fate(): Required<Fate> {
    const take = (fault: 'failed_then_processed' | 'late_receipt' | 'transient_rejected' | 'hidden_after_send') =>
      this.registry.faults.take(fault, 'send') ?? 0;
    return {
      mask: take('failed_then_processed'),
      late: take('late_receipt'),
      transient: take('transient_rejected'),
      hide: take('hidden_after_send'),
    };
  }

  private processingMs(index: number): number {
    const { seed, processingMs, processingSpread } = this.registry.settings;
    const spread = spreadOf(seed, index);
    return Math.round(processingMs * (processingSpread === 'full' ? 2 * spread : 0.5 + spread));
  }

  private participantOf(account: string): string {
    return this.registry.world.accountsByName.get(account)?.participant.key ?? account;
  }

  private known(documentId: string): RegistryDocument {
    const document = this.registry.documents.get(documentId);
    if (document === undefined) throw new Error(`the journal speaks of document ${documentId} before it was taken`);
    return document;
  }
}

interface Fate {
  mask: number;
  late: number;
  transient?: number;
  hide?: number;
}

/** The monotonic moment of a time of day. */
export const realOf = (wallMs: number): number => performance.now() - (Date.now() - wallMs);
