import type { Sha256 } from '#kernel';

/** A person begins a mock recall: where is every pack of this series? */
interface MockRecallBegun {
  type: 'MockRecallBegun';
  data: { recallId: string; gtin: string; series: string };
}

/** Where they were is known. How long that took is the time between the two events. */
interface MockRecallTraced {
  type: 'MockRecallTraced';
  data: {
    recallId: string;
    gtin: string;
    series: string;
    /** Log position up to which the record of packs was told; not before the event that began it. */
    knownAt: string;
    /** Packs by where they are. `gone`: sold, used, written off. `unknown`: our record cannot say. */
    packs: { inStock: number; inTransit: number; shipped: number; gone: number; unknown: number };
    /** Packs of the product whose series no document has told: some may be of this one. */
    seriesUnknown: number;
    /** Containers of which nobody ever told what is in them. Absent: they were not counted yet. */
    containersUnknown?: number;
    /** Our branches and the places of others that hold packs of it. */
    places: number;
    /** The whole answer, by branch and place: evidence. */
    contentSha256: Sha256;
    /** Until the record had caught up with the beginning, and what the counting took: milliseconds. */
    waitedMs: number;
    countedMs: number;
  };
}

export type MockRecallEvent = MockRecallBegun | MockRecallTraced;

export const mockRecallStream = (recallId: string): string => `mock-recall-${recallId}`;
