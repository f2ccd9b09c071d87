import type { Duck } from '#duckdb';
import type { TypeKnowledge } from '#documents';
import { foldState, IN_OUR_NAME, namedOperations, type FoldedRow, type RecallableMovement } from '#read-models';
import { rowUpTo, type Carried } from './containers.js';
import type { Effects } from './documents.js';
import { firstKey, keyOf, ORDINALS, rankIn } from './keys.js';
import type { Meaning } from './meanings.js';
import type { Packs } from './packs.js';
import { heldNow, type PackStay, type Walk } from './walk.js';

/** A movement in a life: of the pack (depth 0), of what held it (1), or of the place where it was (-1). */
interface Lived {
  key: number;
  depth: number;
  meaning: number;
  /** The place. */
  item: string;
}

/** By which ids a recall may name it. */
type Recalled = Omit<RecallableMovement<never>, 'at'> & { docType: number };

/** What was folded from each movement of a pack. Codes are those of the words, 0 for nothing. */
export interface FoldedPack {
  status: number;
  place: number;
  /** What holds it. */
  container: number;
  /** Of the last document that was applied; 0 for none. */
  rank: number;
  isUncertain: boolean;
  /** What is left of a pack of which parts were used; absent: all of it, or nothing. */
  partLeft?: string | undefined;
}

/** Whose state is kept, for the next pack that lived the same. */
const MOST_LIVES = 20_000;

/**
 * Packs whose state is not their last movement of each kind: those that were suspended, recalled, used up in part, lay
 * where everything was moved, whose transfer went back, or that stand in a document beside their container. Each of
 * their movements goes through the fold of a single pack.
 */
export class Unusual {
  private readonly templates: FoldedRow[] = [];
  /** By meaning. */
  private readonly moves: (readonly Lived[])[] = [];
  /** By life: the packs of a box have the same one. */
  private readonly folded = new Map<string, FoldedPack>();

  private constructor(
    private readonly of: { effects: Effects; carried: Carried; types: TypeKnowledge },
    private readonly placeMoves: Map<string, Lived[]>,
    private readonly recalled: Map<number, Recalled>,
    private readonly recalls: Map<string, number[]>,
  ) {}

  static async read(duck: Duck, of: { effects: Effects; carried: Carried; types: TypeKnowledge }): Promise<Unusual> {
    const moves = await duck.rows<Lived>(`SELECT ${keyOf('rank', 'ordinal')}::DOUBLE AS key, -1 AS depth, meaning, item
      FROM container_row WHERE item IN (SELECT unnest(enum_range(NULL::place_word))::VARCHAR)`);
    const recalled = await duck.rows<{
      rank: number;
      doc_type: number;
      request_id: string;
      document_id: string | null;
      is_ours: boolean;
    }>(
      `SELECT d.rank::INTEGER AS rank, d.doc_type, t.request_id, t.document_id, ${IN_OUR_NAME} AS is_ours
        FROM document d JOIN told t USING (known_from) WHERE d.is_recalled`,
    );
    const recalls = await duck.rows<{ rank: number; recalls: string }>(
      'SELECT d.rank::INTEGER AS rank, r.recalls FROM recall r JOIN document d USING (known_from)',
    );
    await duck.run('DROP TABLE container_row; DROP TABLE told; DROP TABLE recall');
    return new Unusual(
      of,
      grouped(moves, ({ item }) => [item, undefined]) as Map<string, Lived[]>,
      new Map(
        recalled.map((one) => [
          one.rank,
          { docType: one.doc_type, requestId: one.request_id, documentId: one.document_id, isOurs: one.is_ours },
        ]),
      ),
      grouped(recalls, ({ recalls: id, rank }) => [id, rank]) as Map<string, number[]>,
    );
  }

  fold(walk: Walk, pack: number): FoldedPack {
    const life = walk.packs.lifeOf(pack);
    const known = this.folded.get(life);
    if (known !== undefined) return known;
    if (this.folded.size === MOST_LIVES) this.folded.clear();
    const stays = walk.stays(pack, -1);
    const folded = { ...this.foldOne(walk.packs, pack, stays), container: heldNow(stays) };
    this.folded.set(life, folded);
    return folded;
  }

  private foldOne(packs: Packs, pack: number, stays: readonly PackStay[]): Omit<FoldedPack, 'container'> {
    const { effects, types } = this.of;
    const lived = this.inOrder([...this.own(packs, pack), ...stays.flatMap((stay) => this.carriedIn(stay))]);
    const moved = this.inOrder([...lived, ...this.movesOfPlaces(lived)]);
    const recalls = this.recallsOf(moved);
    const rows = moved.map((one) => this.row(one));
    for (const row of recalls) rows.push(row);
    if (recalls.length > 0) rows.sort((a, b) => Number(a.position - b.position) || a.ordinal - b.ordinal);
    const { state, lived: counted } = foldState(rows, { gtin: undefined, types });
    const { statuses, places } = effects.meanings;
    return {
      status: codeOf(statuses, state.status?.value),
      place: codeOf(places, state.place?.value),
      rank: Number(counted.findLast(({ result }) => result === 'applied')?.position ?? 0n),
      isUncertain: state.doubts.some(({ parts }) => parts.includes('status')),
      partLeft: state.partLeft?.value === '0' ? undefined : state.partLeft?.value,
    };
  }

  private own(packs: Packs, pack: number): Lived[] {
    const { effects } = this.of;
    const found: Lived[] = [];
    for (let row = packs.newest[pack] as number; row >= 0; row = packs.before[row] as number) {
      const effect = packs.effect[row] as number;
      const key = firstKey(effects.rank[effect] as number) + (packs.ordinal[row] as number);
      found.push({ key, depth: 0, meaning: effects.meaning[effect] as number, item: '' });
    }
    return found;
  }

  private carriedIn({ container, from, to }: PackStay): Lived[] {
    const { carried } = this.of;
    const first = firstKey(from) + ORDINALS;
    const found: Lived[] = [];
    for (let row = rowUpTo(carried, container, to); row >= (carried.begins[container] as number); row -= 1) {
      const key = carried.key[row] as number;
      if (key < first) break;
      found.push({ key, depth: 1, meaning: carried.meaning[row] as number, item: '' });
    }
    return found;
  }

  /** What moved all that a place held, for each place that these movements name and that those moves lead to. */
  private movesOfPlaces(lived: readonly Lived[]): Lived[] {
    const found = new Set<Lived>();
    for (const { meaning } of lived) for (const move of this.movesOf(meaning)) found.add(move);
    return [...found];
  }

  private movesOf(meaning: number): readonly Lived[] {
    const known = this.moves[meaning];
    if (known !== undefined) return known;
    const { all } = this.of.effects.meanings;
    const places = new Set(this.placesOf(all[meaning] as Meaning));
    const found: Lived[] = [];
    for (const place of places)
      for (const move of this.placeMoves.get(place) ?? []) {
        found.push(move);
        for (const next of this.placesOf(all[move.meaning] as Meaning)) places.add(next);
      }
    return (this.moves[meaning] = found);
  }

  /** To which it leads, or may lead back. */
  private placesOf({ place, doc_type: docType, subject_id: subject, counterparty_id: other }: Meaning): string[] {
    return this.of.types.transferOf(docType) === undefined ? [place ?? ''] : [place ?? '', subject, other ?? ''];
  }

  private recallsOf(lived: readonly Lived[]): FoldedRow[] {
    if (this.recalls.size === 0) return [];
    const operations = namedOperations(
      lived.flatMap(({ key }) => {
        const one = this.recalled.get(rankIn(key));
        return one !== undefined && this.of.types.isRecallable(one.docType)
          ? [{ ...one, at: BigInt(rankIn(key)) }]
          : [];
      }),
    );
    return [...operations].flatMap(([operation, recalled]) =>
      (this.recalls.get(operation) ?? []).map((rank) => ({
        ...rowOf(RECALL),
        position: BigInt(rank),
        recalled: [...recalled],
      })),
    );
  }

  /** As a single history has them: a document that names a pack and what holds it counts once. */
  private inOrder(lived: Lived[]): Lived[] {
    const { all } = this.of.effects.meanings;
    lived.sort((a, b) => a.key - b.key || a.depth - b.depth || (a.item < b.item ? -1 : Number(a.item > b.item)));
    let told = -1;
    return lived.filter(({ key, meaning }) => {
      if (key === told) return false;
      if (all[meaning]?.result !== 'refused') told = key;
      return true;
    });
  }

  private row({ key, depth, meaning, item }: Lived): FoldedRow {
    const template = (this.templates[meaning] ??= rowOf(this.of.effects.meanings.all[meaning] as Meaning));
    return { ...template, depth, item, ordinal: key % ORDINALS, position: BigInt(rankIn(key)) };
  }
}

const codeOf = (codes: Map<string, number>, word: string | undefined): number => {
  if (word === undefined || word === '') return 0;
  const code = codes.get(word);
  if (code === undefined) throw new Error(`${word} is a word of no document`);
  return code;
};

const grouped = <Row, Value>(
  rows: readonly Row[],
  of: (row: Row) => [key: string, value: Value],
): Map<string, (Value | Row)[]> => {
  const groups = new Map<string, (Value | Row)[]>();
  for (const row of rows) {
    const [key, value] = of(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value ?? row]);
    else group.push(value ?? row);
  }
  return groups;
};

const RECALL: Pick<Meaning, 'result' | 'doc_type' | 'subject_id'> = {
  result: 'applied',
  doc_type: 250,
  subject_id: '',
};

/** What of a movement its state does not depend on is empty. */
function rowOf(meaning: Partial<Meaning> & typeof RECALL): FoldedRow {
  return {
    item: '',
    ordinal: 0,
    depth: 0,
    at: 0n,
    position: 0n,
    knownFrom: 0n,
    result: meaning.result,
    status: meaning.status ?? null,
    place: meaning.place ?? null,
    containment: meaning.containment ?? null,
    container: null,
    part: meaning.part ?? null,
    docType: meaning.doc_type,
    subjectId: meaning.subject_id,
    counterpartyId: meaning.counterparty_id ?? null,
    ...NOT_FOLDED,
  };
}

const NOT_FOLDED = {
  operationAt: null,
  acceptedAt: null,
  requestId: '',
  documentId: null,
  channel: null,
  operationDate: '',
  documentSha256: '',
  receiptSha256: null,
  owner: null,
  holder: null,
  series: null,
  expiry: null,
  funding: null,
  lots: null,
  corrects: null,
  errorCode: null,
  errorText: null,
};
