import { defined, uuid5 } from '#kernel';
import { zonedInstant } from '../clock/dates.js';
import {
  undoneBy,
  UPLOAD_TYPES,
  type DocumentContent,
  type DocumentItem,
  type RegistryDocument,
} from '../documents/document.js';
import { NOTICES, ORDER_ERRORS } from '../documents/notice.js';
import type { Intake } from '../documents/intake.js';
import type { SandboxSettings } from '../config.js';
import type { PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';
import type { Profile } from '../profile.js';
import { spreadOf } from '../seeded.js';
import { movedItems, tellOthers } from './tellings.js';
import type { CounterpartyKnobs } from './knobs.js';
import { acceptLetter, refusalLetter, reverseLetter, shipmentLetter, type Letter } from './letters.js';

type Items = Letter['items'];

const OWN_MEANS = '1';

/** A 630 cannot tell of own means, so a 470 of goods bought with them is not told of. */
const noticeOf = ({ docType }: RegistryDocument, content: DocumentContent | undefined) =>
  docType === 470 && content?.fields.get('source') === OWN_MEANS ? undefined : NOTICES[docType ?? 0];

/** What of the registry the others need. */
interface CounterpartyParts {
  readonly packs: PackStore;
  readonly intake: Intake;
  readonly profile: Profile;
  readonly settings: SandboxSettings;
  readonly world: World;
  plantFresh(body: unknown): void;
}

/**
 * What follows from a document for the other side: the system's notification (public-facts 2.5), and what a simulated
 * participant does. Both are journalled with ids that follow from the document, so that a restart neither loses nor
 * repeats them.
 */
export class Counterparties {
  private started = false;
  private readonly users: Set<string>;

  constructor(
    private readonly registry: CounterpartyParts,
    public knobs: CounterpartyKnobs,
  ) {
    this.users = new Set([...registry.world.accountsByName.values()].map((account) => account.participant.key));
  }

  /** From here on things follow; before, the journal tells what followed. */
  start(): void {
    this.started = true;
  }

  concluded(document: RegistryDocument, content: DocumentContent | undefined): void {
    if (!this.started || document.verdict?.kind !== 'receipt') return;
    this.notify(document, content);
    if (document.verdict.result !== 'Rejected' && content !== undefined) {
      tellOthers(this.registry, document, content);
      this.react(document, content.items);
    }
    if (document.account !== undefined) this.trade(document);
  }

  /**
   * A supplier ships fresh packs, in a container if one is named, to a place of ours: they come to be, and his 415 goes
   * out.
   */
  ship(order: {
    from: Participant;
    to: string;
    count: number;
    key: string;
    atVirtualMs: number;
    gtin?: string | undefined;
    sscc?: string | undefined;
  }): RegistryDocument | undefined {
    const { from, to, count, key, atVirtualMs, sscc } = order;
    const gtin =
      order.gtin ?? [...this.registry.world.products.values()].find((one) => one.supplier === from.key)?.gtin;
    const place = from.branches[0] as string;
    if (gtin === undefined) throw new Error(`${from.key} makes no product`);
    const packs = this.freshPacks({ gtin, owner: from.key, place, count, key, sscc });
    const items: Items = sscc === undefined ? packs : [{ kind: 'sscc', id: sscc }];
    return this.write(from, {
      key,
      docType: 415,
      atVirtualMs,
      xml: (date) =>
        shipmentLetter(`S-${key.slice(0, 8)}`, { subject: place, counterparty: to, operationDate: date, items }),
    });
  }

  /** A customer says that he received packs of ours: his 416 goes out. */
  claim(order: {
    by: Participant;
    from: string;
    items: Items;
    key: string;
    atVirtualMs: number;
  }): RegistryDocument | undefined {
    const { by, from, items, key, atVirtualMs } = order;
    const subject = by.branches[0] as string;
    return this.write(by, {
      key,
      docType: 416,
      atVirtualMs,
      xml: (date) => reverseLetter(`R-${key.slice(0, 8)}`, { subject, counterparty: from, operationDate: date, items }),
    });
  }

  private notify(document: RegistryDocument, content: DocumentContent | undefined): void {
    const { verdict, docType, dueVirtualMs: atVirtualMs } = document;
    if (verdict?.kind !== 'receipt') return;
    const told = (to: string, type: number) =>
      this.registry.intake.notify({
        id: uuid5(`notice ${type}`, document.documentId),
        origin: document,
        to,
        docType: type,
        atVirtualMs,
      });
    const notice = noticeOf(document, content);
    const counterparty = this.participantOf(document);
    if (
      notice !== undefined &&
      verdict.result !== 'Rejected' &&
      counterparty !== undefined &&
      (counterparty.key !== document.sender || this.registry.settings.tellOwnMoves) &&
      this.users.has(counterparty.key)
    )
      told(counterparty.key, notice.docType);
    if (docType === 416 && undoneBy(verdict).size > 0 && this.users.has(document.sender))
      told(document.sender, ORDER_ERRORS);
  }

  /** The other side of a shipment or reverse order acts, or stays silent. */
  private react(document: RegistryDocument, named: DocumentItem[]): void {
    const { docType, sender } = document;
    const other = this.participantOf(document);
    if (docType === undefined || BEGINS[docType] === undefined || other === undefined) return;
    const items = movedItems(document, named);
    if (this.users.has(sender) && !this.users.has(other.key)) this.answer(document, other, items);
    else if (docType === 415 && this.users.has(other.key) && this.chance(document, 'recall') < this.knobs.recall)
      this.recall(document, items);
  }

  private answer(document: RegistryDocument, other: Participant, items: Items): void {
    const { accept, part, refuse } = this.knobs;
    const chance = this.chance(document, 'answer');
    if (chance >= accept + part + refuse) return;
    const kept = chance < accept ? items : chance < accept + part ? items.filter((_item, at) => at % 2 === 0) : [];
    const acceptedIds = new Set(kept.map((item) => item.id));
    const refused = items.filter((item) => !acceptedIds.has(item.id));
    const sides = { subject: this.placeOf(other, document.counterparty), counterparty: document.subject ?? '' };
    const by = BEGINS[document.docType ?? 0] === 'direct' ? 'receiver' : 'shipper';
    const atVirtualMs = document.dueVirtualMs;
    const { documentId: key } = document;
    if (kept.length > 0)
      this.write(other, {
        key,
        docType: 701,
        atVirtualMs,
        xml: (operationDate) => acceptLetter({ ...sides, operationDate, items: kept }),
      });
    if (refused.length > 0) {
      this.write(other, {
        key,
        docType: by === 'shipper' ? 251 : 252,
        atVirtualMs,
        xml: (operationDate) => refusalLetter(by, { ...sides, operationDate, items: refused }),
      });
    }
  }

  private recall(document: RegistryDocument, items: Items): void {
    const sender = this.registry.world.participants.get(document.sender) as Participant;
    const sides = { subject: document.subject ?? '', counterparty: document.counterparty ?? '' };
    const { documentId: key, dueVirtualMs: atVirtualMs } = document;
    this.write(sender, {
      key,
      docType: 251,
      atVirtualMs,
      xml: (operationDate) => refusalLetter('shipper', { ...sides, operationDate, items }),
    });
  }

  /** Others trade while we work: now and then a shipment or a claim comes out of the blue. */
  private trade(document: RegistryDocument): void {
    const { ship, reverse } = this.knobs;
    const { documentId: key, dueVirtualMs: atVirtualMs, subject: place } = document;
    const own = this.registry.world.participants.get(document.sender) as Participant;
    if (place === undefined || !own.branches.includes(place)) return;
    if (this.chance(document, 'ship') < ship) {
      const suppliers = [
        ...new Set([...this.registry.world.products.values()].map((product) => product.supplier)),
      ].filter((one) => !this.users.has(one));
      const from = this.registry.world.participants.get(suppliers[document.seq % suppliers.length] ?? '');
      if (from !== undefined) this.ship({ from, to: place, count: 1 + (document.seq % 5), key, atVirtualMs });
    }
    if (this.chance(document, 'reverse') < reverse) {
      const by = [...this.registry.world.participants.values()].find(
        (one) => !this.users.has(one.key) && !this.makes(one),
      );
      const gtin = [...this.registry.world.products.keys()][0];
      if (by === undefined || gtin === undefined) return;
      const items = this.freshPacks({ gtin, owner: own.key, place, count: 1, key: uuid5('claimed', key) });
      this.claim({ by, from: place, items, key, atVirtualMs });
    }
  }

  private makes(participant: Participant): boolean {
    return [...this.registry.world.products.values()].some((product) => product.supplier === participant.key);
  }

  /** Packs that nobody named before: their serials follow from the key. */
  private freshPacks({
    gtin,
    owner,
    place,
    count,
    key,
    sscc,
  }: {
    gtin: string;
    owner: string;
    place: string;
    count: number;
    key: string;
    sscc?: string | undefined;
  }): Items {
    const prefix = `Q${key.replaceAll('-', '').slice(0, 7).toUpperCase()}`;
    this.registry.plantFresh({
      ranges: [{ gtin, prefix, from: 0, count, owner, place, series: `Q${prefix.slice(1, 5)}`, ...defined({ sscc }) }],
    });
    return Array.from({ length: count }, (_, index) => ({
      kind: 'sgtin',
      id: `${gtin}${prefix}${String(index).padStart(13 - prefix.length, '0')}`,
    }));
  }

  private write(
    from: Participant,
    letter: { key: string; docType: number; atVirtualMs: number; xml(operationDate: string): string },
  ): RegistryDocument | undefined {
    const { key, docType, atVirtualMs } = letter;
    const { profile, settings } = this.registry;
    const id = uuid5(`act ${docType}`, key);
    const afterMs = Math.round(
      this.knobs.delayMs * (0.5 + spreadOf(settings.seed ^ docType, Number.parseInt(key.slice(0, 8), 16))),
    );
    const xml = letter.xml(zonedInstant(atVirtualMs + afterMs, profile.zone, profile.zoneMinutes));
    return this.registry.intake.act({
      id,
      requestId: uuid5('request', id),
      from: from.key,
      uploadType: UPLOAD_TYPES.api,
      xml,
      atVirtualMs,
      afterMs,
    });
  }

  private participantOf(document: RegistryDocument): Participant | undefined {
    return this.registry.world.participantAt(document.counterparty ?? '');
  }

  /** The place that the document names, or the participant's first. */
  private placeOf(participant: Participant, named: string | undefined): string {
    return named !== undefined && participant.branches.includes(named) ? named : (participant.branches[0] as string);
  }

  private chance(document: RegistryDocument, what: string): number {
    return spreadOf(this.registry.settings.seed ^ (what.length * 0x1f123bb5), document.seq);
  }
}

/** Types that begin a transfer: the receiver answers a direct one, the shipper a reverse one. */
const BEGINS: Readonly<Record<number, 'direct' | 'reverse'>> = {
  ...Object.fromEntries(
    [314, 315, 331, 336, 337, 351, 361, 381, 415, 417, 471, 472].map((docType) => [docType, 'direct']),
  ),
  ...Object.fromEntries([332, 362, 416, 473].map((docType) => [docType, 'reverse'])),
};
