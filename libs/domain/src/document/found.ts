/** The documents that a look-up by request_id has shown. */
export interface FoundDocuments {
  documentIds: string[];
  /** Those of them whose upload the registry shows still open. */
  uploading?: string[];
  /** Those of them that the registry has failed. */
  failed?: string[];
}

/**
 * Which of them is taken for ours: the first that the registry has not failed, and of those the first that it has
 * whole. A document that landed late makes the next attempt fail as its repeat (principles 2.2).
 */
export function ourOf({ documentIds, uploading = [], failed = [] }: FoundDocuments): string | undefined {
  const alive = documentIds.filter((documentId) => !failed.includes(documentId));
  return alive.find((documentId) => !uploading.includes(documentId)) ?? alive[0] ?? documentIds[0];
}
