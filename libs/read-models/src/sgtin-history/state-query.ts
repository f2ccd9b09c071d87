import { splitSgtin, type Sgtin } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { PackState, ToldBy } from '../port.js';
import { fieldsOf } from '../shapes.js';
import type { ItemLife, LifeKnowledge } from './item-life.js';
import type { LivedRow } from './life.js';
import { lifeOfPack, movementOf, type HistoryOptions } from './query.js';
import { sentenceOfFinding } from './sentences.js';
import { PACK_FACTS, toldBy } from './shape.js';
import type { Fact } from './state.js';

/**
 * What is known of one pack, as of a moment and as known at one, and for each fact who told us. `undefined` when no
 * document that was known then had named it.
 * @throws PedigreeError `invalid_identifier` when `sgtin` has not the shape of one.
 */
export async function stateOf(db: Queryable, sgtin: Sgtin, options: HistoryOptions): Promise<PackState | undefined> {
  const life = await lifeOfPack(db, sgtin, options);
  return life && { sgtin, ...splitSgtin(sgtin), ...stateTold(life, options.types) };
}

function stateTold({ state, container, findings }: ItemLife, types: LifeKnowledge) {
  const toldByOf = toldByEach(types);
  const told = <T>(fact: Fact<T> | undefined): { value: T; toldBy: ToldBy } | undefined =>
    fact && { value: fact.value, toldBy: toldByOf(fact.by) };
  const { status, place, owner, holder, series, expiry, funding, partLeft, transfer, suspended } = state;
  return {
    ...present({
      status: told(status),
      place: told(place),
      owner: told(owner),
      holder: told(holder),
      container: told(container),
      series: told(series),
      expiry: told(expiry),
      funding: told(funding),
      partLeft: told(partLeft),
      suspended: told(suspended),
      transfer: transfer && { ...transfer.value, toldBy: toldByOf(transfer.by) },
    }),
    unknown: PACK_FACTS.filter((fact) => state[fact] === undefined),
    uncertain: state.doubts.map(({ parts, why, by }) => ({ parts, ...present({ why }), toldBy: toldByOf(by) })),
    findings: [
      ...findings.map(({ kind, at: _, position, ...of }) => ({
        kind,
        sentence: sentenceOfFinding({ kind, ...of }),
        knownAt: String(position),
      })),
      ...state.findings.map(({ kind, other, by }) => ({
        kind,
        sentence: sentenceOfFinding({ kind, item: by.item, ...present({ other }) }),
        knownAt: String(by.position),
      })),
    ],
  };
}

const shown = fieldsOf(toldBy);
/** One movement tells many facts as a rule: it is shown once. */
function toldByEach({ titleOf }: LifeKnowledge): (row: LivedRow) => ToldBy {
  const known = new Map<LivedRow, ToldBy>();
  return (row) => {
    const told = known.get(row) ?? shown(movementOf(row, titleOf(row.docType)));
    known.set(row, told);
    return told;
  };
}
