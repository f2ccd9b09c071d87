import { canonicalUuid, defined, isJsonObject, type JsonObject, type JsonValue } from '#kernel';
import type { DocumentMetadata, DocumentPage, NotUnderstood, RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import type { FieldName } from '../profile-names.js';
import { parseRegistryDate } from '../registry-dates.js';
import { countOf } from './answers.js';
import type { Reading } from './classify.js';
import { errorCodeOf, jsonOf } from './error-body.js';

/**
 * Readers of good answers, by the names of the profile. None throws: an answer of another shape is a problem in words.
 */
export class Readings {
  constructor(private readonly profile: Profile) {}

  /**
   * One text field of an object. What was asked for wins over an error code beside it: a document_id means that the
   * document is there.
   */
  text(raw: RawAnswer, field: FieldName): Reading<string> {
    const name = this.profile.fields[field];
    const json = jsonOf(raw);
    const value = isJsonObject(json) ? json[name] : undefined;
    return isPlain(value) ? { value } : { problem: `the answer has no text in "${name}"` };
  }

  /** The metadata of one document (public-facts 1.2). */
  document(raw: RawAnswer): Reading<DocumentMetadata> {
    const json = this.object(raw);
    return 'problem' in json ? json : this.metadata(json.value);
  }

  /** The same of the one that was asked for: from an answer about another nothing may follow. */
  documentOf(raw: RawAnswer, documentId: string): Reading<DocumentMetadata> {
    const reading = this.document(raw);
    if ('problem' in reading || isSameId(reading.value.documentId, documentId)) return reading;
    return { problem: `it is about document ${reading.value.documentId}` };
  }

  /** A page of a list with its total. One entry that is not understood keeps nobody from the others. */
  page(raw: RawAnswer): Reading<DocumentPage> {
    const entries = this.entries(raw);
    if ('problem' in entries) return entries;
    const name = this.profile.fields.total;
    const total = countOf((jsonOf(raw) as JsonObject)[name], name);
    if ('problem' in total) return total;
    const { documents, notUnderstood } = entries.value;
    return { value: { documents, total: total.value, ...(notUnderstood.length === 0 ? {} : { notUnderstood }) } };
  }

  /** The documents of a list, each of them understood; its total is not asked for. */
  documents(raw: RawAnswer): Reading<DocumentMetadata[]> {
    const entries = this.entries(raw);
    if ('problem' in entries) return entries;
    const [first] = entries.value.notUnderstood;
    if (first === undefined) return { value: entries.value.documents };
    return { problem: `"${this.profile.fields.documents}"[${first.at}]: ${first.problem}` };
  }

  private entries(raw: RawAnswer): Reading<{ documents: DocumentMetadata[]; notUnderstood: NotUnderstood[] }> {
    const json = this.object(raw);
    if ('problem' in json) return json;
    const name = this.profile.fields.documents;
    const listed = json.value[name];
    // The same answer comes as array or object (public-facts 4): one document may stand there alone.
    const entries = isJsonObject(listed) && this.profile.fields.document_id in listed ? [listed] : listed;
    if (!Array.isArray(entries)) return { problem: `"${name}" is not a list` };
    const [documents, notUnderstood]: [DocumentMetadata[], NotUnderstood[]] = [[], []];
    for (const [at, entry] of entries.entries()) {
      const reading = isJsonObject(entry) ? this.metadata(entry) : { problem: 'it is not an object' };
      if ('value' in reading) documents.push(reading.value);
      else notUnderstood.push({ at, written: JSON.stringify(entry), ...reading });
    }
    return { value: { documents, notUnderstood } };
  }

  /**
   * The documents that were sent under a request_id. Notifications bear that of the document that they tell of
   * (registry-interface 2.1), and are none of them. An answer about another request_id is not understood: nothing may
   * follow from it.
   */
  documentsUnder(raw: RawAnswer, requestId: string): Reading<DocumentMetadata[]> {
    const documents = this.documents(raw);
    if ('problem' in documents) return documents;
    const other = documents.value.find((one) => one.requestId !== '' && !isSameId(one.requestId, requestId));
    if (other !== undefined) return { problem: `document ${other.documentId} is of request ${other.requestId}` };
    return { value: documents.value.filter((one) => !isNotification(one.docType)) };
  }

  /** XML bytes as they came; a web page instead of them is not taken for a document. */
  xml(raw: RawAnswer): Reading<{ xml: Buffer }> {
    const beginning = raw.body
      .subarray(0, 256)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .trimStart();
    if (beginning === '') return { problem: 'the answer is empty instead of XML' };
    if (!beginning.startsWith('<') || /^<(!doctype\s+html|html)/i.test(beginning))
      return { problem: 'the answer is not XML' };
    return { value: { xml: raw.body } };
  }

  private object(raw: RawAnswer): Reading<JsonObject> {
    const json = jsonOf(raw);
    if (!isJsonObject(json)) return { problem: 'the answer is not a JSON object' };
    if (errorCodeOf(json, this.profile.fields) !== undefined) return { problem: 'the answer carries an error code' };
    return { value: json };
  }

  private metadata(fields: JsonObject): Reading<DocumentMetadata> {
    const { fields: names, zone } = this.profile;
    const documentId = fields[names.document_id];
    if (!isPlain(documentId)) return { problem: `a document without "${names.document_id}"` };
    const statusName = fields[names.doc_status];
    const status = this.statusOf(statusName);
    if (status === null)
      return { problem: `document ${documentId} has the unknown status ${JSON.stringify(statusName ?? null)}` };
    const docType = countOf(fields[names.doc_type], names.doc_type);
    // Before the registry has read a document its type is 0 (public-facts 1.2).
    const isTyped = 'value' in docType && docType.value !== 0;
    return {
      value: {
        documentId,
        requestId: canonicalUuid(textOf(fields[names.request_id]) ?? ''),
        status,
        fields,
        ...defined({
          docType: isTyped ? docType.value : undefined,
          docNum: textOf(fields[names.doc_num]),
          receivedAt: parseRegistryDate(fields[names.date], zone),
          processedAt: parseRegistryDate(fields[names.processed_date], zone),
          sender: textOf(fields[names.sender]),
          receiver: textOf(fields[names.receiver]),
        }),
      },
    };
  }

  /** Null where the profile knows no meaning of it. */
  private statusOf(name: JsonValue | undefined): DocumentMetadata['status'] | null {
    const { statuses, statusFallback } = this.profile;
    if (typeof name !== 'string') return null;
    return (Object.hasOwn(statuses, name) ? statuses[name] : undefined) ?? statusFallback;
  }
}

const isSameId = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/**
 * The schemes of what the registry tells participants of one another, 601 to 634 so far (public-facts 2.2); nobody
 * sends them.
 */
const isNotification = (docType: number | undefined): boolean =>
  docType !== undefined && docType > 600 && docType < 700;

/** A text that can be stored and sent back anywhere: not empty, no control characters, no halves of surrogate pairs. */
const isPlain = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && value !== '' && !/\p{Cc}|\p{Surrogate}/u.test(value);
const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
