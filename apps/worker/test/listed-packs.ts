import type { FullHierarchy, HierarchyNode, ListRecord, SgtinRecord } from '#registry-client';
import type { FetchContext } from '../src/fetches/read-pages.js';

type Outcome = Awaited<ReturnType<FetchContext['packs']['lists']['page']>>;
type ByList = Awaited<ReturnType<FetchContext['packs']['sgtins']['byList']>>;

export interface Pack {
  sgtin: string;
  status?: string;
  series?: string;
  at: 'ours' | 'archive' | 'theirs';
}

/** A container: what lies in it, and what it lies in. */
export interface Box {
  sscc: string;
  packs?: string[];
  boxes?: Box[];
  up?: string;
}

export type Decision = ListRecord<'suspension_decisions'>;

/** A registry's lists of packs in memory. Every call is written down before it is answered. */
export class ListedPacks {
  /** `filter 0`, `list A B`, `archive A`. */
  readonly asked: string[] = [];
  /** Before a call is answered: may throw, or give another outcome. */
  before: (
    call: number,
  ) => { kind: 'refused'; text: string; mayBeOthers?: true } | { kind: 'unknown'; reason: string } | undefined = () =>
    undefined;

  /** What it decided about series; pages of these are numbered apart, and written down as `offset 0`. */
  decisions: Decision[] = [];
  readonly askedDecisions: string[] = [];
  /** Containers; calls about them are written down as `container SSCC`. */
  boxes: Box[] = [];
  beforeDecisions: ListedPacks['before'] = () => undefined;

  /** Entries of a list, behind all others, that nobody understands. */
  strange: Partial<Record<string, string[]>> = {};

  constructor(public packs: Pack[]) {}

  readonly calls = {
    lists: {
      page: (_account: string, list: string, query: { offset?: number; limit?: number } = {}) => {
        const { offset = 0, limit = 0 } = query;
        const window = { list, offset, limit };
        if (list === 'suspension_decisions') return this.pageOfDecisions(window);
        const ours = this.packs.filter(({ at }) => at === 'ours');
        return this.answer(`filter ${offset}`, this.pageOf(ours.map(recordOf), window)) as Promise<Outcome>;
      },
    },
    sgtins: {
      byList: (_account: string, sgtins: string[], list?: string) => {
        const isArchive = list === 'archived_sgtins_by_list';
        const found = (sgtin: string): Pack | undefined =>
          this.packs.find((one) => one.sgtin === sgtin && (one.at === 'archive') === isArchive);
        const known = sgtins.map(found).filter((one) => one !== undefined);
        const failed = sgtins.flatMap((sgtin) => {
          const pack = found(sgtin);
          if (pack === undefined) return [isArchive ? { sgtin, reason: 'not_told' } : { sgtin, reason: 'not_found' }];
          return pack.at === 'theirs' ? [{ sgtin, reason: 'access_denied' }] : [];
        });
        const value = { found: known.filter(({ at }) => at !== 'theirs').map(recordOf), failed, unanswered: [] };
        return this.answer(`${isArchive ? 'archive' : 'list'} ${sgtins.join(' ')}`, value) as Promise<ByList>;
      },
    },
    ssccs: {
      fullHierarchy: async (_account: string, sscc: string) => {
        const box = this.boxes.find((one) => one.sscc === sscc);
        const outcome = await this.answer(`container ${sscc}`, box === undefined ? {} : hierarchyOf(box));
        return box === undefined && (outcome as { kind: string }).kind === 'ok'
          ? { ...(outcome as object), kind: 'not_found', text: 'unknown' }
          : outcome;
      },
    },
  } as unknown as FetchContext['packs'];

  private pageOf(all: object[], { list, offset, limit }: { list: string; offset: number; limit: number }): object {
    const aside = this.strange[list] ?? [];
    const [from, to] = [offset, offset + limit].map((at) => Math.max(0, at - all.length));
    const items = all.slice(offset, offset + limit);
    const strange = aside.slice(from, to).map((written, n) => ({ at: items.length + n, written }));
    return { items, total: all.length + aside.length, ...(strange.length === 0 ? {} : { strange }) };
  }

  private pageOfDecisions(window: { list: string; offset: number; limit: number }): Promise<Outcome> {
    this.askedDecisions.push(`offset ${window.offset}`);
    const other = this.beforeDecisions(this.askedDecisions.length);
    if (other !== undefined) return Promise.resolve(other as unknown as Outcome);
    return answered(this.pageOf(this.decisions, window)) as Promise<Outcome>;
  }

  private answer(what: string, value: object): Promise<unknown> {
    this.asked.push(what);
    const other = this.before(this.asked.length);
    if (other !== undefined) return Promise.resolve(other);
    return answered(value);
  }
}

const nodeOf = ({ sscc, packs = [], boxes = [] }: Box): HierarchyNode => ({
  ...{ sscc, fields: {}, containers: boxes.map(nodeOf) },
  packs: packs.map((sgtin) => recordOf({ sgtin, at: 'ours' })),
});

/** As the registry tells it: from the outermost to the asked one, and what is in that. */
export function hierarchyOf(box: Box): FullHierarchy {
  const asked = nodeOf({ sscc: box.sscc });
  const up = box.up === undefined ? asked : { ...nodeOf({ sscc: box.up }), containers: [asked] };
  return { up: [up], down: [nodeOf(box)] };
}

function answered(value: object): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(value));
  return Promise.resolve({
    kind: 'ok',
    value,
    raw: { body, httpStatus: 200, receivedAt: new Date('2026-11-23T06:00:00Z') },
  });
}

const recordOf = ({ sgtin, status = 'in_circulation', series = 'S1' }: Pack): SgtinRecord => ({
  ...{ sgtin, status, place: '00000000100101', series, expiresOn: '2028-12-31T00:00:00Z', fields: {} },
});
