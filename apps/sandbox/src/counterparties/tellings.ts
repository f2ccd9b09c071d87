import { uuid5 } from '#kernel';
import type { SandboxSettings } from '../config.js';
import { undoneBy, type DocumentContent, type DocumentItem, type RegistryDocument } from '../documents/document.js';
import type { Intake } from '../documents/intake.js';
import { postingLetter, successorLetter, wholePlaceLetter } from '../documents/system-letters.js';
import type { PackState, PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';

interface TellingParts {
  readonly intake: Intake;
  readonly packs: PackStore;
  readonly world: World;
  readonly settings: Pick<SandboxSettings, 'tellOwnMoves'>;
}

interface Told {
  document: RegistryDocument;
  content: DocumentContent;
  sender: Participant;
}

/** Notifications that are not the document under another name: 627 of a 702, 631 of an 812, 634 of a 432. */
export function tellOthers(parts: TellingParts, document: RegistryDocument, content: DocumentContent): void {
  const sender = parts.world.participants.get(document.sender) as Participant;
  const told = { document, content, sender };
  if (content.docType === 702) tellHolders(parts, told);
  if (content.docType === 432 || content.docType === 812) tellOfPlace(parts, told);
}

/** What the document moved: its items without those in error. */
export function movedItems(document: RegistryDocument, items: DocumentItem[]): DocumentItem[] {
  const undone = undoneBy(document.verdict);
  return items.filter((item) => !undone.has(item.id));
}

function tellHolders(parts: TellingParts, { document, content, sender }: Told): void {
  const byHolder = new Map<string, DocumentItem[]>();
  for (const item of movedItems(document, content.items)) {
    const holder = holderBefore(parts.packs, item)?.owner ?? '';
    byHolder.set(holder, [...(byHolder.get(holder) ?? []), item]);
  }
  for (const [key, items] of byHolder) {
    const holder = parts.world.participants.get(key);
    if (holder === undefined) continue;
    const xml = postingLetter({
      atVirtualMs: document.dueVirtualMs,
      subject: document.subject ?? '',
      inn: sender.inn ?? '0000000000',
      name: sender.name,
      holder: holder.systemId,
      fields: content.fields,
      items,
    });
    announce(parts, { document, type: 627, to: key, xml });
  }
}

/** The state of an item's first pack before the document that has just changed it. */
function holderBefore(packs: PackStore, { kind, id }: DocumentItem): PackState | undefined {
  const unit = kind === 'sscc' ? packs.container(id) : undefined;
  const sgtin = kind === 'sgtin' ? id : ((unit && packs.contentOf(unit)?.sgtins[0]) ?? '');
  return packs.pack(sgtin)?.trail?.previous?.state;
}

function tellOfPlace(parts: TellingParts, { document, content, sender }: Told): void {
  const about = {
    atVirtualMs: document.dueVirtualMs,
    subject: sender.systemId,
    name: sender.name,
    shipper: content.fields.get('shipper_id') ?? '',
    receiver: content.fields.get('receiver_id') ?? '',
    fields: content.fields,
    operationId: document.requestId,
  };
  if (content.docType === 432) {
    const xml = wholePlaceLetter(about);
    return parts.settings.tellOwnMoves ? announce(parts, { document, type: 634, to: sender.key, xml }) : undefined;
  }
  const predecessor = parts.world.participantAt(about.shipper)?.key ?? '';
  announce(parts, { document, type: 631, to: predecessor, xml: successorLetter(about) });
}

function announce(
  { intake }: TellingParts,
  { document, type, to, xml }: { document: RegistryDocument; type: number; to: string; xml: string },
): void {
  const { requestId, sender: from, dueVirtualMs: atVirtualMs } = document;
  const id = uuid5(`notice ${type} ${to}`, document.documentId);
  intake.announce({ id, requestId, from, to, xml, atVirtualMs });
}
