import { PostgresEvidenceStore } from '#evidence';
import { documentStream } from '#domain';
import { sha256Hex } from '#kernel';
import type { CampaignLog } from '../../campaign-log.js';
import { complaints, type Ended, type Subject } from '../subject.js';

/**
 * Every receipt that the registry gave out lies in the evidence byte for byte, and so does every document that was
 * sent.
 */
export const evidence: Subject = { name: 'evidence', check };

const CONCLUSIONS = ['DocumentConcluded', 'ConclusionRevised'];

async function check({ ours, registry, truth, pool, log }: Ended): Promise<string[]> {
  const store = new PostgresEvidenceStore({ pool });
  const named = await receiptsNamed(log);
  const found: string[] = [];
  for (const one of registry.filter((document) => document.account !== null && ours.has(document.request_id))) {
    const { receipt, document } = await truth<{ receipt: string | null; document: string }>(
      `/truth/files/${one.document_id}`,
    );
    const theirs = receipt === null ? undefined : sha256Hex(Buffer.from(receipt, 'base64'));
    const ourName = named.get(documentStream(one.request_id));
    if (theirs !== ourName)
      found.push(`${one.request_id}: the registry's receipt is ${theirs ?? 'absent'}, ours ${ourName ?? 'absent'}`);
    for (const bytes of [receipt, document]
      .filter((text) => text !== null)
      .map((text) => Buffer.from(text, 'base64'))) {
      const kept = await store.get(sha256Hex(bytes));
      if (kept?.bytes.equals(bytes) !== true)
        found.push(`${one.request_id}: ${bytes.length} bytes of the registry are not in the evidence`);
    }
  }
  return complaints(found, (one) => one);
}

/** The receipt that a document's newest conclusion names, by stream. */
async function receiptsNamed(log: CampaignLog): Promise<Map<string, string>> {
  const named = new Map<string, string>();
  for (const { stream, type, data } of await log.events()) {
    const { receiptSha256 } = data as { receiptSha256?: string };
    if (CONCLUSIONS.includes(type) && receiptSha256 !== undefined) named.set(stream, receiptSha256);
  }
  return named;
}
