import { RULES, type RuleName } from './rules.js';

interface Violation {
  rule: RuleName;
  call: string;
  account: string;
  /** Real time. */
  at: string;
  note?: string;
}

const MAX_LISTED = 1000;

/**
 * Which rules of the interface were broken, by whom and how often. Counts are complete; the list holds the first
 * thousand.
 */
export class ViolationLedger {
  private readonly counts = new Map<RuleName, number>();
  private readonly listed: Violation[] = [];
  private total = 0;

  record(rule: RuleName, about: { call: string; account: string; note?: string }): void {
    this.total += 1;
    this.counts.set(rule, (this.counts.get(rule) ?? 0) + 1);
    if (this.listed.length < MAX_LISTED) this.listed.push({ rule, at: new Date().toISOString(), ...about });
  }

  clear(): void {
    this.total = 0;
    this.counts.clear();
    this.listed.length = 0;
  }

  report(): {
    count: number;
    byRule: Record<string, number>;
    rules: typeof RULES;
    listed: number;
    violations: Violation[];
  } {
    const { total, listed } = this;
    return {
      count: total,
      byRule: Object.fromEntries(this.counts),
      rules: RULES,
      listed: listed.length,
      violations: listed,
    };
  }
}
