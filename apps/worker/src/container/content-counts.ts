/** What came of asking for contents. `withheld`: answers that tell none. */
export const CONTENT_RESULTS = ['told', 'withheld', 'given_up', 'over_limit'] as const;
type ContentResult = (typeof CONTENT_RESULTS)[number];

/** How often this process has met each, for metrics. */
export class ContentCounts {
  private readonly counts = new Map<ContentResult, number>();

  add(result: ContentResult, count = 1): void {
    this.counts.set(result, this.of(result) + count);
  }

  of(result: ContentResult): number {
    return this.counts.get(result) ?? 0;
  }
}
