import { PostgresEvidenceStore } from '#evidence';
import { documentStream } from '#domain';
import { sha256Hex } from '#kernel';
import { complaints, type Ended, type Subject } from '../subject.js';

/** Every receipt that the registry gave out lies in the evidence byte for byte, and so does every document that was sent. */
export const evidence: Subject = { name: 'evidence', check };

async function check({ ours, registry, truth, pool }: Ended): Promise<string[]> {
  const store = new PostgresEvidenceStore({ pool });
  const named = await receiptsNamed(pool);
  const found: string[] = [];
  for (const one of registry.filter((document) => document.account !== null && ours.has(document.request_id))) {
    const { receipt, document } = await truth<{ receipt: string | null; document: string }>(`/truth/files/${one.document_id}`);
    const theirs = receipt === null ? undefined : sha256Hex(Buffer.from(receipt, 'base64'));
    const ourName = named.get(documentStream(one.request_id));
    if (theirs !== ourName) found.push(`${one.request_id}: the registry's receipt is ${theirs ?? 'absent'}, ours ${ourName ?? 'absent'}`);
    for (const bytes of [receipt, document].filter((text) => text !== null).map((text) => Buffer.from(text, 'base64'))) {
      const kept = await store.get(sha256Hex(bytes));
      if (kept?.bytes.equals(bytes) !== true) found.push(`${one.request_id}: ${bytes.length} bytes of the registry are not in the evidence`);
    }
  }
  return complaints(found, (one) => one);
}

/** The receipt that a document's newest conclusion names, by stream. */
async function receiptsNamed(pool: Ended['pool']): Promise<Map<string, string>> {
  const text = `SELECT stream, convert_from(data, 'UTF8') AS data FROM event WHERE type IN ('DocumentConcluded', 'ConclusionRevised') ORDER BY position`;
  const { rows } = await pool.query<{ stream: string; data: string }>(text);
  const named = rows.flatMap(({ stream, data }): [string, string][] => {
    const { receiptSha256 } = JSON.parse(data) as { receiptSha256?: string };
    return receiptSha256 === undefined ? [] : [[stream, receiptSha256]];
  });
  return new Map(named);
}
