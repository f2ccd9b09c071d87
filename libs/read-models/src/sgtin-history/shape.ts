import { z } from 'zod';
import { WITHHELD_REASONS } from '#domain';
import { instant, movementChannel, position, sha256, whole } from '../shapes.js';
import { CONTAINMENT_FINDINGS } from './containment.js';
import { STATE_FINDINGS } from './state.js';

/** One movement in a pack's life. */
export const movement = z.strictObject({
  item: z.string().describe('The pack itself, the container that held it then, or the place where it was.'),
  through: z.enum(['container', 'place']).optional(),
  doc_type: whole,
  title: z.string(),
  request_id: z
    .string()
    .optional()
    .describe("Ours is a UUID; for a document that we did not send it is its sender's own id, where that is known."),
  document_id: z.string().optional(),
  channel: movementChannel
    .optional()
    .describe(
      'For a document that we did not send: by which way it came. Look at /v1/inbound/{documentId}. registry_answer: ' +
        "the registry's answer about a container that this document brought, fetched at operation_date.",
    ),
  result: z.enum(['applied', 'refused', 'undetermined']),
  error_code: z.string().optional(),
  error_text: z.string().optional(),
  status: z.string().optional(),
  corrects: z.string().optional().describe('The earlier operation or receipt that it corrects, as it names it.'),
  subject_id: z.string(),
  counterparty_id: z.string().optional(),
  operation_date: z.string(),
  accepted_at: instant.optional(),
  known_at: position,
  document_sha256: sha256,
  receipt_sha256: sha256.optional(),
});

const life = {
  status: z.string().optional(),
  place: z.string().optional(),
  container: z.string().optional().describe('The container that holds it directly.'),
  movements: z.array(movement),
};

export const packHistory = z.strictObject({ sgtin: z.string(), gtin: z.string(), serial: z.string(), ...life });
export const containerHistory = z.strictObject({ sscc: z.string(), ...life });

/** Who told us: the document, with its receipt and evidence, and the place in the log. */
export const toldBy = movement.omit({ result: true, error_code: true, error_text: true, status: true, corrects: true });

const fact = (what: string) => z.strictObject({ value: z.string(), told_by: toldBy }).optional().describe(what);

/** What of a pack may be known or not. */
export const PACK_FACTS = ['status', 'place', 'owner', 'holder', 'series', 'expiry', 'funding'] as const;

const lifeFinding = z.strictObject({
  kind: z.enum([...CONTAINMENT_FINDINGS, ...STATE_FINDINGS]),
  sentence: z.string(),
  known_at: position,
});

export const packState = z.strictObject({
  sgtin: z.string(),
  gtin: z.string(),
  serial: z.string(),
  status: fact('As the registry names it, for example in_circulation.'),
  place: fact('Where the pack is or goes: a place of activity.'),
  owner: fact('The place or system id through which its owner acted last. It changes when a transfer is accepted.'),
  holder: fact('Who answers for the pack, in the same way: its owner, or an agent, or who is to confirm a receipt.'),
  container: fact('The container that holds it directly; absent when none does.'),
  series: fact('As a document named it, of the pack or of what its container holds.'),
  expiry: fact('The last day, YYYY-MM-DD.'),
  funding: fact('The code of the money that paid: 1 own, 2 federal, 3 regional, 4 funds, 5 mixed.'),
  part_left: fact('What is left of a pack of which parts were sold, used or withdrawn: 0, or a fraction.'),
  suspended: fact('The status by which it was suspended, and since when; absent when it is not.'),
  transfer: z
    .strictObject({
      from: z.string(),
      to: z.string(),
      order: z.enum(['direct', 'reverse']).describe('reverse: the receiver has the goods, the shipper is to confirm.'),
      told_by: toldBy,
    })
    .optional()
    .describe('A shipment that nobody has accepted, recalled or refused yet.'),
  unknown: z.array(z.enum(PACK_FACTS)).describe('What no document that we know tells.'),
  uncertain: z
    .array(
      z.strictObject({
        parts: z.array(z.enum(['status', 'place', 'owner', 'holder', 'containment', 'part_left'])),
        why: z.string().optional(),
        told_by: toldBy,
      }),
    )
    .describe('Movements of which it cannot be told whether they happened, with what they may have changed.'),
  findings: z.array(lifeFinding).describe('Where documents contradict one another. What the later one says counts.'),
});

/** Who told us, where the item is told beside it: the document, ours or of others, with its receipt. */
export const tellingDocument = toldBy.omit({ item: true, through: true });

/** Why the content of a container is not known. */
const unknownContent = z.strictObject({
  standing: z
    .enum(['not_asked', 'being_asked', 'given_up'])
    .describe('not_asked: no incoming document named it, or asking is switched off or limited.'),
  reason: z.enum(WITHHELD_REASONS).optional().describe('Why the registry has not told it, as it last answered.'),
  since: instant.optional().describe('Since when the registry is, or was, asked.'),
  attempts: whole.optional().describe('Answers by then that told nothing.'),
  document_id: z.string().optional().describe('The incoming document because of which: /v1/inbound/{documentId}.'),
  account: z.string().optional(),
  sentence: z.string(),
});

export const containerContent = z.strictObject({
  sscc: z.string(),
  container: z.string().optional().describe('The container that held it.'),
  is_known: z
    .boolean()
    .describe(
      'False: neither a document nor the registry told what is in it, or in a container in it. Then more than the ' +
        'items may be in it.',
    ),
  unknown: unknownContent.optional().describe('Why it is not known; absent when it is.'),
  packs: whole.describe('Packs in it, however deep.'),
  containers: whole.describe('Containers in it, however deep.'),
  items: z
    .array(
      z.strictObject({
        item: z.string(),
        container: z.string().describe('The one that holds it directly.'),
        level: whole.describe('1: directly in the container that was asked for.'),
        known_at: position.describe('Log position of the document that packed it: see documents.'),
        content_unknown: z.string().optional().describe('Of a container: why nobody can tell what is in it.'),
      }),
    )
    .describe('Each container comes before what it holds.'),
  documents: z.array(tellingDocument).describe('Who told us: the documents that packed these items.'),
  findings: z.array(lifeFinding).describe('Where documents contradict one another. What the later one says counts.'),
});
