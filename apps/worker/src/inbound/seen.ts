import { channelOf, type InboundSeen } from '#domain';
import { defined, type Sha256 } from '#kernel';
import type { DocumentMetadata, Profile } from '#registry-client';
import type { ListedDocument } from './registry-documents.js';

/** Longest id that can name a stream and a task. */
const LONGEST_ID = 200;
const MOST_DOC_TYPE = 999_999;
const isName = (text: string): boolean =>
  text !== '' && text.length <= LONGEST_ID && !/\p{Cc}|\p{Surrogate}/u.test(text);
const isPlain = (text: string | undefined): text is string => text !== undefined && isName(text);

/** The row of a document that the registry has shown; undefined where its id could name nothing here. */
export function listedAs(
  document: DocumentMetadata,
  { account, list }: { account: string; list: ListedDocument['direction'] },
): ListedDocument | undefined {
  const { documentId, requestId, status, docType, receivedAt, processedAt } = document;
  if (!isName(documentId)) return undefined;
  const known = docType !== undefined && docType >= 0 && docType <= MOST_DOC_TYPE ? docType : undefined;
  return {
    documentId,
    requestId: isPlain(requestId) ? requestId : '',
    direction: list,
    account,
    docType: known,
    status,
    receivedAt,
    processedAt,
  };
}

/** What the registry has shown of a document, as following it begins. `document`: all of it, where it is at hand. */
export function seenOf(
  { fields, uploadChannels }: Pick<Profile, 'fields' | 'uploadChannels'>,
  { row, document, answerSha256 }: { row: ListedDocument; document?: DocumentMetadata; answerSha256: Sha256 },
): InboundSeen['data'] {
  const { documentId, requestId, direction, account, docType, status, receivedAt, processedAt } = row;
  const upload = document?.fields[fields.file_uploadtype];
  const { docNum, sender, receiver } = document ?? {};
  return {
    documentId,
    direction,
    account,
    status,
    answerSha256,
    channel: channelOf({ direction, docType, uploadedBy: uploadChannels[String(upload)] }),
    ...(requestId === '' ? {} : { requestId }),
    ...defined({ docType }),
    ...(isPlain(docNum) ? { docNum } : {}),
    ...(isPlain(sender) ? { sender } : {}),
    ...(isPlain(receiver) ? { receiver } : {}),
    ...defined({ receivedAt, processedAt }),
  };
}
