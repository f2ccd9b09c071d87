import { realOf } from '../clock/virtual-time.js';
import { Groups, type GroupRecord } from '../groups/groups.js';
import type { JournalRecord, Place, RecordOf } from '../journal/journal.js';
import type { Account } from '../packs/world.js';
import { documentIdOf } from '../seeded.js';
import { Uploads, type UploadRecord } from '../uploads/uploads.js';
import { newDocument, UPLOAD_TYPES, type RegistryDocument } from './document.js';
import { drawDelivery, drawFate, giveFate, listedFrom, processingMsOf } from './fate.js';
import { shownStatus } from './metadata.js';
import { noticeXml, type Notice } from './notice.js';
import type { IntakeParts } from './parts.js';
import { variedXml } from './varied-xml.js';
import { readDocument } from './xml.js';

const NEW_KINDS = ['document', 'incoming', 'act', 'notice'] as const;
const CHANGE_KINDS = ['repeat', 'group', 'cancel', 'read'] as const;
const UPLOAD_KINDS = ['large', 'part', 'restart', 'finish'] as const satisfies UploadRecord['k'][];
type NewRecord = RecordOf<(typeof NEW_KINDS)[number]>;
type ChangeRecord = RecordOf<(typeof CHANGE_KINDS)[number]>;
/** Records of what happens to documents. */
type IntakeRecord = NewRecord | ChangeRecord | UploadRecord;

const isOf =
  <Kind extends JournalRecord['k']>(kinds: readonly Kind[]) =>
  (record: JournalRecord): record is RecordOf<Kind> =>
    (kinds as readonly string[]).includes(record.k);
const isChange = isOf(CHANGE_KINDS);
const isUpload = isOf(UPLOAD_KINDS);
export const isIntakeRecord = isOf([...NEW_KINDS, ...CHANGE_KINDS, ...UPLOAD_KINDS]);

/**
 * How documents come to be, by whatever way, and what is done with them before they are processed. Journal first, then
 * the state.
 */
export class Intake {
  readonly uploads: Uploads;
  readonly groups: Groups;

  constructor(private readonly registry: IntakeParts) {
    this.groups = new Groups((document) => this.process(document), registry.settings.groupStatuses);
    this.uploads = new Uploads(registry, {
      sent: (record, at) => this.sent(record, at),
      known: (documentId) => this.known(documentId),
      enqueue: (document, digest) => this.enqueue(document, digest),
    });
  }

  /**
   * Takes a document: journal first, then the queue, unless it waits for its group. One that landed late is not hidden
   * as well: both together would outlast the grace that clients wait.
   */
  accept(sent: {
    account: Account;
    requestId: string;
    bulk: boolean;
    xml: Buffer;
    base64: string;
    digest: string;
    sign: string;
    isLate: boolean;
  }): RegistryDocument {
    const { account, requestId, bulk, xml, base64, digest, sign, isLate } = sent;
    const { clock, documents, settings } = this.registry;
    const now = clock.nowMs();
    const record: RecordOf<'document'> = {
      k: 'document',
      id: documentIdOf(requestId, settings.seed, documents.withRequestId(requestId).length),
      r: requestId,
      a: account.name,
      v: now,
      w: Date.now(),
      due: now + processingMsOf(settings, documents.nextSeq()),
      bulk,
      ...drawFate(this.registry.faults),
      ...(isLate ? { hide: 0 } : {}),
      h: digest,
      d: base64,
      ...(sign === '' ? {} : { s: sign }),
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
      ...drawDelivery(this.registry.faults),
      d: xml.toString('base64'),
    };
    return this.addIncoming(record, this.registry.journal.append(record));
  }

  /** Delivers what the registry itself writes to a participant. Undefined when he was told before. */
  announce(letter: {
    id: string;
    requestId: string;
    from: string;
    to: string;
    xml: string;
    atVirtualMs: number;
  }): RegistryDocument | undefined {
    if (this.registry.documents.get(letter.id) !== undefined) return undefined;
    const { id, requestId: r, from, to, atVirtualMs: v } = letter;
    const d = Buffer.from(letter.xml).toString('base64');
    const late = drawDelivery(this.registry.faults);
    const record: RecordOf<'incoming'> = { k: 'incoming', id, r, from, to, v, w: Date.now(), ...late, d };
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
      ...drawDelivery(this.registry.faults),
      meta,
    };
    this.registry.journal.append(record);
    return this.addNotice(record);
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
    const v = this.registry.clock.nowMs();
    const record: RecordOf<'cancel'> = { k: 'cancel', id: document.documentId, v, w: Date.now() };
    this.registry.journal.append(record);
    this.take(record);
  }

  /** Starts a group, in the order of its members. */
  startGroup(id: string, members: RegistryDocument[]): void {
    const { clock, journal, settings } = this.registry;
    const ms = members.map((member) => processingMsOf(settings, member.seq));
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
    if (origin !== undefined)
      return variedXml(
        noticeXml(origin, { docType: document.docType ?? 0, xml: this.bytesOf(origin) }),
        document.documentId,
      );
    return document.xml ?? this.registry.journal.documentBytes(document.journalAt);
  }

  /** Does again what a record tells. */
  replay(record: IntakeRecord, at: Place): void {
    if (isUpload(record)) this.uploads.replay(record, at);
    else if (isChange(record)) this.take(record);
    else this.add(record, at);
  }

  private add(record: NewRecord, at: Place): RegistryDocument {
    switch (record.k) {
      case 'document':
        return this.addDocument(record, at, Buffer.from(record.d, 'base64'));
      case 'incoming':
        return this.addIncoming(record, at);
      case 'act':
        return this.addAct(record, at);
      case 'notice':
        return this.addNotice(record);
    }
  }

  private take(record: ChangeRecord): void {
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
    const document = this.sent(record, at);
    Object.assign(document, { xml, dueVirtualMs: record.due });
    giveFate(document, record);
    this.registry.documents.add(document);
    this.enqueue(document, record.h);
    return document;
  }

  /** A document that a user of the API sent, or announced. */
  private sent(record: RecordOf<'document' | 'large'>, at: Place): RegistryDocument {
    const sender = this.registry.world.accountsByName.get(record.a)?.participant.key ?? record.a;
    return Object.assign(this.fresh(record, sender, at), { account: record.a, bulk: record.bulk });
  }

  private enqueue(document: RegistryDocument, digest: string): void {
    document.bytesKey = `${document.sender} ${digest}`;
    if (!document.bulk) return this.process(document);
    document.waits = 'group_start';
    document.waitsInWork = this.registry.settings.groupStatuses === 'other';
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
      listedFromVirtualMs: listedFrom(record),
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
      listedFromVirtualMs: listedFrom(record),
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

  private known(documentId: string): RegistryDocument {
    const document = this.registry.documents.get(documentId);
    if (document === undefined) throw new Error(`the journal speaks of document ${documentId} before it was taken`);
    return document;
  }
}
