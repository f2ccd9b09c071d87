import type { TrustedPartners } from '../registries/trust.js';

/** What documents leave behind beside the packs. It follows from the documents, so a replay comes to the same. */
export class Books {
  /** SSCC -> key of the participant for whom it is reserved (213). */
  readonly reservedSsccs = new Map<string, string>();
  /** Ids of the documents whose operation was cancelled (250). */
  readonly recalled = new Set<string>();
  private readonly sales = new Map<string, Set<string>>();

  /** @param trusted whom participants trust, by 212 and by calls. */
  constructor(readonly trusted: TrustedPartners) {}

  /** What a till sold by one receipt. */
  noteSale(seller: string, receiptId: string, sgtins: string[]): void {
    const key = `${seller} ${receiptId}`;
    this.sales.set(key, new Set([...(this.sales.get(key) ?? []), ...sgtins]));
  }

  saleOf(seller: string, receiptId: string): ReadonlySet<string> | undefined {
    return this.sales.get(`${seller} ${receiptId}`);
  }
}
