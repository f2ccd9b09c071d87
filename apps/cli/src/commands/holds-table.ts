import type { z } from 'zod';
import type { document } from '../../../gateway/src/api/answers.js';
import type { group } from '../../../gateway/src/api/group-answers.js';
import { instant, table } from '../print.js';

type Hold =
  | Extract<z.infer<typeof document>, { holds: unknown }>['holds'][number]
  | Extract<z.infer<typeof group>, { holds: unknown }>['holds'][number];

/** What keeps a document or a group from being sent, one line each. */
export const holdsTable = (holds: Hold[]): string =>
  table(
    ['held by', 'since', 'for', 'who may release it'],
    holds.map((hold) => [hold.kind, instant(hold.since), textOf(hold), hold.waivable_by]),
  );

/** The documents that it comes after, its group, or the cause why its account is paused. */
function textOf(hold: Hold): string {
  if (hold.kind === 'group' || hold.kind === 'account') return hold.for;
  if (hold.kind === 'gate') return packsOf(hold.for);
  if (hold.kind === 'suspension') return suspendedOf(hold.for);
  if (hold.kind === 'person') return `${hold.for.by}: ${hold.for.reason}`;
  return hold.for
    .map((one) => {
      const ended = one.outcome === undefined ? '' : ` (${one.outcome})`;
      return `${one.command_id}${ended}${'items' in one ? `: ${metIn(one)}` : ''}`;
    })
    .join(', ');
}

function suspendedOf({ series, unknown }: Extract<Hold, { kind: 'suspension' }>['for']): string {
  const named = series.map((one) => `${one.pack_count} of series ${one.series} of ${one.gtin}`);
  return [...named, ...(unknown === undefined ? [] : [`${unknown.item_count} of unknown series`])].join(', ');
}

function packsOf({ packs, pack_count }: Extract<Hold, { kind: 'gate' }>['for']): string {
  const named = packs.map(({ item, reasons }) => `${item}: ${reasons.join(' ')}`);
  return [...named, ...(pack_count > packs.length ? [`and ${pack_count - packs.length} more`] : [])].join(', ');
}

const metIn = ({ items, item_count }: { items: string[]; item_count: number }): string =>
  item_count > items.length ? `${items.join(' ')} and ${item_count - items.length} more` : items.join(' ');
