import type { Random } from '../../../apps/cli/src/sample/random.js';
import { caseIdOf } from '#domain';
import { checkDigitOf } from '#kernel';

/** No document of the campaign names a pack of this product: what is found of it follows from the files alone. */
export const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const HERE = '00000000100101';
const THERE = '00000000100102';
export const MAPPING = {
  ...{ format: 'csv', delimiter: ';', columns: { item: 'KM', place: 'Branch', series: 'Series' } },
};

interface Pack {
  item: string;
  series: string;
  /** Undefined: the registry has never heard of it. */
  registry: { status: string; place: string } | undefined;
}

/** What one file must lead to. */
export interface Expected {
  /** Reason code by item. */
  findings: Map<string, string>;
  /** Items by case. */
  cases: Map<string, string[]>;
  /** All that it names. */
  items: Set<string>;
}

/** Packs as the registry has them, and files of them that differ here and there. */
export class StockFiles {
  private readonly packs: Pack[];
  private given = 0;

  constructor(
    private readonly random: Random,
    { packs, series }: { packs: number; series: number },
  ) {
    this.packs = Array.from({ length: packs }, (_, n) => ({
      item: `${GTIN}C${String(n).padStart(12, '0')}`,
      series: `S${random.below(series)}`,
      registry: this.registered(),
    }));
  }

  private registered(): Pack['registry'] {
    const kind = this.random.below(10);
    if (kind === 0) return undefined;
    return { status: kind === 1 ? 'in_sale' : 'in_circulation', place: kind === 2 ? THERE : HERE };
  }

  /** For the control port of the sandbox. */
  get planted(): object {
    const packs = this.packs.flatMap(({ item: sgtin, series, registry }) =>
      registry === undefined ? [] : [{ sgtin, series, owner: 'own', ...registry }],
    );
    return { packs };
  }

  /**
   * Some packs are left out, some stand at another place than in the file before. Each second file is of one branch
   * alone, and says nothing of the other: of that with most packs, for a stock that has shrunk below half is refused.
   */
  next(): { content: string; expected: Expected } {
    this.given += 1;
    const isOfBranch = this.given % 2 === 0;
    const expected: Expected = { findings: new Map(), cases: new Map(), items: new Set() };
    const rows = this.packs.flatMap((pack) => {
      const kind = this.random.below(12);
      if (kind === 0) return [];
      const place = kind < 3 ? THERE : HERE;
      if (isOfBranch && place !== HERE) return [];
      note(expected, pack, place);
      return [`${pack.item};${place};${pack.series}`];
    });
    return { content: `KM;Branch;Series\n${rows.join('\n')}\n`, expected };
  }
}

function note({ findings, cases, items }: Expected, { item, series, registry }: Pack, place: string): void {
  items.add(item);
  const code = codeOf(registry, place);
  if (code === undefined) return;
  findings.set(item, code);
  const id = caseIdOf(code, { kind: 'series', gtin: GTIN, series, place });
  cases.set(id, [...(cases.get(id) ?? []), item]);
}

function codeOf(registry: Pack['registry'], place: string): string | undefined {
  if (registry === undefined) return 'unknown_serial';
  if (registry.status === 'in_sale') return 'sold_in_registry_in_stock_here';
  return registry.place === place ? undefined : 'owner_or_branch_mismatch';
}
