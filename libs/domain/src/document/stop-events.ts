/** Most series, and most packs of each, that one finding names; all packs are counted. */
export const MAX_STOPPED_SERIES = 20;
export const MAX_STOPPED_PACKS = 10;
/** Most suspensions that one finding names; those behind them are one entry, made of all of them. */
export const MAX_STOPPED_SUSPENSIONS = 500;

/** A suspended series that a document names packs of, itself or by containers around them. */
export interface StoppedSeries {
  gtin: string;
  series: string;
  /** The suspensions that are in force for it, by the list or by letters. */
  suspensions: string[];
  /** The first of its packs; one that lies in a container that the document names is named by itself. */
  packs: string[];
  packCount: number;
}

/** What is known of the packs of a document and the suspensions in force. */
export interface SuspensionFinding {
  series: StoppedSeries[];
  /** Set where more series were found than `series` names: the suspensions of all of them, in one order. */
  suspensions?: string[];
  /** Packs of all suspended series, named above or not. */
  packCount: number;
  /** Packs of a product of which a series is suspended, and containers, of which nobody told what they are. */
  unknown?: { items: string[]; itemCount: number };
  /** The log position up to which suspensions were known. */
  knownAt: string;
}

/**
 * The suspensions that a finding is of, each once and in one order: one may be in force for several series. Findings of
 * before name those of `series` alone.
 */
export const suspensionsOf = ({ series, suspensions }: Pick<SuspensionFinding, 'series' | 'suspensions'>): string[] => [
  ...new Set(suspensions ?? series.flatMap((one) => one.suspensions).sort()),
];

/** What is done where nobody told of which series a pack is: it goes, and that is recorded; or it is held. */
export type UnknownSeriesPolicy = 'pass' | 'hold';

/** Keeps a document from being sent: packs of it are suspended. */
export interface SuspensionHold extends SuspensionFinding {
  kind: 'suspension';
}

/** Keeps a document from being sent: a person said so. */
export interface PersonHold {
  kind: 'person';
  /** Of all holds of this document that ended a planned send, from 1. */
  number: number;
  by: string;
  reason: string;
}

/** Sent all the same: nobody told of which series these packs are. */
export interface SuspensionWarned {
  type: 'SuspensionWarned';
  data: SuspensionFinding;
}

/** None of the suspensions that it was held for is in force any more, or its packs are others by now. */
export interface SuspensionHoldLifted {
  type: 'SuspensionHoldLifted';
  data: { knownAt: string };
}
