/** Whom each participant trusts. Trust has no effect on documents here. */
export class TrustedPartners {
  private readonly trusted = new Map<string, Set<string>>();

  of(participant: string): ReadonlySet<string> {
    return this.trusted.get(participant) ?? new Set();
  }

  set(participant: string, partners: readonly string[], trusts: boolean): void {
    const known = this.trusted.get(participant) ?? new Set();
    for (const partner of partners) {
      if (trusts) known.add(partner);
      else known.delete(partner);
    }
    this.trusted.set(participant, known);
  }
}
