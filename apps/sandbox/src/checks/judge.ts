import type { DocumentContent, ReceiptError, RegistryDocument, Verdict } from '../documents/document.js';
import type { Schemas } from '../documents/schemas.js';
import { readDocument, UntypedDocument } from '../documents/xml.js';
import type { PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';
import { healthCare, recipe, retailSale, returnToCirculation, withdrawal } from './disposals.js';
import type { Operation, OperationRule } from './operation.js';
import { unitAppend, unitExtract, unitPack, unitUnpack } from './packing.js';
import { endPacking, productEmission } from './production.js';
import { because, receiptError } from './reasons.js';
import { accept, moveOrder, movePlace, receiveOrder } from './transfers.js';

/** Document type -> what it does. A type that is absent here is rejected with a reason that says so. */
const RULES: Record<number, { element: string; rule: OperationRule }> = {
  311: { element: 'register_end_packing', rule: endPacking },
  313: { element: 'register_product_emission', rule: productEmission },
  391: { element: 'return_to_circulation', rule: returnToCirculation },
  415: { element: 'move_order', rule: moveOrder },
  416: { element: 'receive_order', rule: receiveOrder },
  431: { element: 'move_place', rule: movePlace },
  511: { element: 'retail_sale', rule: retailSale },
  521: { element: 'recipe', rule: recipe },
  531: { element: 'health_care', rule: healthCare },
  552: { element: 'withdrawal', rule: withdrawal },
  701: { element: 'accept', rule: accept },
  911: { element: 'unit_pack', rule: unitPack },
  912: { element: 'unit_unpack', rule: unitUnpack },
  913: { element: 'unit_extract', rule: unitExtract },
  914: { element: 'unit_append', rule: unitAppend },
  10311: { element: 'skzkm_register_end_packing', rule: endPacking },
};

const DONE = 'Успешное завершение операции';
const PARTLY_DONE = 'Операция выполнена частично';
const NOT_DONE = 'Операция отклонена';

export interface JudgeParts {
  schemas: Schemas;
  packs: PackStore;
  world: World;
  maxItemsPerDocument: number;
}

/**
 * Decides about a document and applies it. Critical, without a receipt: the same bytes before, no well-formed XML, no type
 * that could be told. Rejected, with a receipt: against its schema (each violation with its line), a subject or counterparty
 * that cannot be, or every item in error. Some items in error: Partial, the rest is applied.
 */
export function judge(parts: JudgeParts, document: RegistryDocument, xml: Buffer): { verdict: Verdict; content: DocumentContent | undefined } {
  if (document.repeatsBytes) return { verdict: critical('the same document cannot be processed twice'), content: contentIfAny(xml) };
  let content: DocumentContent;
  try {
    content = readDocument(xml);
  } catch (error) {
    if (error instanceof UntypedDocument) return { verdict: critical(error.message), content: undefined };
    throw error;
  }
  return { verdict: judgeContent(parts, { document, xml, content }), content };
}

function judgeContent(parts: JudgeParts, { document, xml, content }: { document: RegistryDocument; xml: Buffer; content: DocumentContent }): Verdict {
  const { schemas, world, packs } = parts;
  const row = RULES[content.docType];
  if (schemas.has(content.version)) {
    const entry = schemas.entry(content.version, content.docType);
    if (entry === undefined || entry.element !== content.element) return untyped(content);
    const violations = schemas.violations(xml, content.version, entry);
    if (violations.length > 0) return rejected(violations.map((violation) => receiptError(because('schema', violation))));
    if (content.items.length > (entry.maxItems ?? parts.maxItemsPerDocument)) return rejected([receiptError(because('too_many_items'))]);
  } else if (schemas.has('1.38') || (row !== undefined && row.element !== content.element)) {
    return untyped(content);
  }
  if (row === undefined) return rejected([receiptError(because('not_simulated', String(content.docType)))]);
  const sender = world.participants.get(document.sender) as Participant;
  const place = content.fields.get('subject_id') ?? '';
  if (!sender.branches.includes(place)) return rejected([receiptError(because('subject_not_yours', place))]);
  return carryOut(row.rule, { content: withUnits(content), sender, place, packs, world });
}

/** The units that a 912 names are its items. */
function withUnits(content: DocumentContent): DocumentContent {
  return content.docType === 912 ? { ...content, items: content.ssccs.map((id) => ({ kind: 'sscc', id })) } : content;
}

function carryOut(rule: OperationRule, operation: Operation): Verdict {
  const against = rule.document?.(operation);
  if (against !== undefined) return rejected([receiptError(against)]);
  const { items } = operation.content;
  if (items.length === 0) return rejected([receiptError(because('no_items'))]);
  if (rule.whole !== undefined) {
    const errors = rule.whole(operation).map(({ reason, objectId }) => receiptError(reason, objectId));
    return errors.length > 0 ? rejected(errors) : accepted();
  }
  const errors: ReceiptError[] = [];
  for (const item of items) {
    const reason = rule.item?.(operation, item);
    if (reason !== undefined) errors.push(receiptError(reason, item.id));
  }
  if (errors.length === 0) return accepted();
  if (errors.length === items.length) return rejected(errors);
  return { kind: 'receipt', result: 'Partial', comment: PARTLY_DONE, errors };
}

const accepted = (): Verdict => ({ kind: 'receipt', result: 'Accepted', comment: DONE, errors: [] });
const rejected = (errors: ReceiptError[]): Verdict => ({ kind: 'receipt', result: 'Rejected', comment: NOT_DONE, errors });
const critical = (reason: string): Verdict => ({ kind: 'critical', reason });
const untyped = (content: DocumentContent): Verdict =>
  critical(`document type not determined: ${content.element} with action_id ${content.docType} in version ${content.version}`);

function contentIfAny(xml: Buffer): DocumentContent | undefined {
  try {
    return readDocument(xml);
  } catch (error) {
    if (error instanceof UntypedDocument) return undefined;
    throw error;
  }
}
