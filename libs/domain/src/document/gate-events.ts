/** Why the known state of a pack forbids a document. */
export const GATE_REASONS = [
  'awaits_other_side',
  'in_arbitration',
  'not_in_trade',
  'not_at_place',
  'in_container',
] as const;
export type GateReason = (typeof GATE_REASONS)[number];

/** What the installation does about such a document: holds it, or sends it with a warning. */
export const GATE_POLICIES = ['refuse', 'warn', 'off'] as const;
export type GatePolicy = (typeof GATE_POLICIES)[number];

/** Most packs that one event names; all are counted. */
export const MAX_GATE_PACKS = 10;

/** A pack, or a container, whose known state forbids a document, and who told that state. */
export interface GatePack {
  item: string;
  reasons: GateReason[];
  status?: string;
  place?: string;
  container?: string;
  toldBy?: { docType: number; requestId?: string; documentId?: string; knownAt: string };
}

/** What was found at the sequence gate. */
export interface GateFinding {
  /** The first of them. */
  packs: GatePack[];
  packCount: number;
  /** The log position up to which the states of packs were known. */
  knownAt: string;
}

/** Keeps a document from being sent: the known state of packs forbids it. */
export interface GateHold extends GateFinding {
  kind: 'gate';
}

/** Sent all the same: by its type the installation only warns, or the states of packs were not known in time. */
export interface GateWarned {
  type: 'GateWarned';
  data: GateFinding & {
    /** Set where nothing was judged: the log position that the record of packs had not reached. */
    neededAt?: string;
  };
}

/** The states of packs forbid it no longer. */
export interface GateHoldLifted {
  type: 'GateHoldLifted';
  data: { knownAt: string };
}
