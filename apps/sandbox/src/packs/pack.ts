import type { Sgtin, Sscc } from '#kernel';
import type { RegistryDocument } from '../documents/document.js';

/** A shipment under way. `direct`: the receiver accepts (415 then 701); `reverse`: the shipper does (416 then 701). */
export interface Transfer {
  from: string;
  to: string;
  order: 'direct' | 'reverse';
  /** What the pack was before, and is again when it is refused; absent for in_circulation. */
  was?: string | undefined;
  /** What it becomes at the receiver; absent for in_circulation. */
  accepted?: string | undefined;
}

/**
 * What the registry knows of a pack. Immutable and shared: the packs of one document that were alike stay one object,
 * so that millions of packs cost a map entry each.
 */
export interface PackState {
  readonly status: string;
  /** Key of the owning participant. */
  readonly owner: string;
  /** Place of activity where it lies, 14 digits. */
  readonly place: string;
  /** The container that holds it directly. */
  readonly sscc?: Sscc | undefined;
  readonly transfer?: Transfer | undefined;
  readonly series?: string | undefined;
  /** Code of the money that paid for it, 1 to 5 (public-facts 3.3); absent: own. */
  readonly funding?: number | undefined;
  /** How much of it was sold or used, as the document wrote it: `2/10`. */
  readonly partUsed?: string | undefined;
  /** The status before a decision of suspension stopped it. */
  readonly pausedFrom?: string | undefined;
  /** It came back as of bad quality (391 with reason 2). */
  readonly flawed?: boolean | undefined;
  /** Its last day, as registered: `31.12.2028`; absent for that of the world. */
  readonly expires?: string | undefined;
  /** How it came here; the store writes it. A next state made by `{ ...state }` carries it on. */
  readonly trail?: Trail | undefined;
}

/** A logistic unit. It is never reused: an unpacked one stays known. */
export interface Container {
  sscc: Sscc;
  owner: string;
  place: string;
  parent: Sscc | undefined;
  packs: Set<Sgtin>;
  containers: Set<Sscc>;
  unpacked: boolean;
  /** When it was packed, on the virtual clock; the store writes it. */
  packedAtMs?: number;
}

/** Everything inside a container, however deep. */
export interface Content {
  sgtins: Sgtin[];
  containers: Container[];
}

/**
 * What is being done to packs, and when on the virtual clock. Without a document: planted, or the regulator's doing.
 */
export interface Change {
  readonly atMs: number;
  readonly document?: RegistryDocument | undefined;
  readonly docType?: number | undefined;
}

/**
 * One step of a pack's life. Packs that went the same way share one, so a document of thousands of packs costs one
 * step.
 */
export interface Trail {
  readonly change: Change;
  readonly status: string;
  /** Since when, on the virtual clock, the pack has this status. */
  readonly sinceMs: number;
  /** The container that held it after this step. */
  readonly sscc: string | undefined;
  /** The whole state after this step. */
  readonly state: PackState;
  readonly previous: Trail | undefined;
}
