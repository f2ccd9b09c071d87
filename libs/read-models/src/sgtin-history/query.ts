import { defined, isSgtin, isSscc, PedigreeError, splitSgtin, type Sgtin, type Sscc } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { ContainerHistory, HistoryQuery, Movement, SgtinHistory } from '../port.js';
import { fieldsOf } from '../shapes.js';
import { knownOf, readItemLife, type ItemLife, type LifeKnowledge } from './item-life.js';
import { compareMoments } from './containment.js';
import type { LivedRow } from './life.js';
import { readPackings } from './life-rows.js';
import { movement } from './shape.js';

export type HistoryOptions = HistoryQuery & { types: LifeKnowledge };

/**
 * One pack's life in the order in which the registry accepted it (then log position): its own movements, and those of
 * every container, nested ones too, while that held it. `undefined` when by `knownAt` no document had named it. A
 * container's movement counts after the pack went in, up to and including the moment that ended the stay. What moves
 * all that a place holds counts while the pack was there.
 * @param options with `types`, what is known of document types.
 * @throws PedigreeError `invalid_identifier` when `sgtin` has not the shape of one.
 */
export async function historyOf(
  db: Queryable,
  sgtin: Sgtin,
  options: HistoryOptions,
): Promise<SgtinHistory | undefined> {
  const life = await lifeOfPack(db, sgtin, options);
  return life && { sgtin, ...splitSgtin(sgtin), ...lifeTold(life, options) };
}

/** The same of a container: its own movements, and those of the containers around it while they held it. */
export async function containerHistoryOf(
  db: Queryable,
  sscc: Sscc,
  options: HistoryOptions,
): Promise<ContainerHistory | undefined> {
  const life = await lifeOfContainer(db, sscc, options);
  return life && { sscc, ...lifeTold(life, options) };
}

/** A movement of a container, or (`isPacking`) a document that packed something into it. */
export type ContainerStep = Movement & { isPacking?: true };

/**
 * What documents did to a container and with it: its movements, and the packings into it, in their order. `undefined`
 * as for its history.
 */
export async function containerStepsOf(
  db: Queryable,
  sscc: Sscc,
  options: HistoryOptions,
): Promise<ContainerStep[] | undefined> {
  const life = await lifeOfContainer(db, sscc, options);
  if (life === undefined) return undefined;
  const packings = await readPackings(db, sscc, await knownOf(db, options));
  const rows: (LivedRow & { isPacking?: true })[] = [
    ...packings.map((row) => ({ ...row, depth: 0, isPacking: true as const })),
    ...life.lived,
  ];
  rows.sort(compareMoments);
  return rows.map(({ isPacking, ...row }) => ({
    ...movementOf(row, options.types.titleOf(row.docType)),
    ...defined({ isPacking }),
  }));
}

/** @throws PedigreeError `invalid_identifier` */
export async function lifeOfPack(db: Queryable, sgtin: Sgtin, options: HistoryOptions): Promise<ItemLife | undefined> {
  if (!isSgtin(sgtin))
    throw new PedigreeError('invalid_identifier', 'an SGTIN has 14 digits (GTIN) and 13 letters or digits (serial)', {
      item: sgtin,
    });
  return readItemLife(db, sgtin, { known: await knownOf(db, options), types: options.types });
}

/**
 * Log positions from which history and state of a pack are read; each is that of an event of one document.
 * @throws PedigreeError `invalid_identifier`
 */
export const packReadFrom = async (db: Queryable, sgtin: Sgtin, options: HistoryOptions): Promise<bigint[]> =>
  (await lifeOfPack(db, sgtin, options))?.readFrom ?? [];

async function lifeOfContainer(db: Queryable, sscc: Sscc, options: HistoryOptions): Promise<ItemLife | undefined> {
  checkSscc(sscc);
  return readItemLife(db, sscc, { known: await knownOf(db, options), types: options.types });
}

/** @throws PedigreeError `invalid_identifier` */
export function checkSscc(sscc: string): void {
  if (!isSscc(sscc)) throw new PedigreeError('invalid_identifier', 'an SSCC has 18 digits', { item: sscc });
}

function lifeTold({ lived, state, container }: ItemLife, { types }: HistoryOptions) {
  return {
    ...present({ status: state.status?.value, place: state.place?.value, container: container?.value }),
    movements: lived.map((row) => movementOf(row, types.titleOf(row.docType))),
  };
}

/** But for the request_id, which is empty where nobody named one. */
const shown = fieldsOf(movement.omit({ request_id: true }));

export function movementOf(row: LivedRow, title: string): Movement {
  const { depth, requestId, knownFrom } = row;
  return {
    ...shown(row),
    title,
    ...(depth === 0 ? {} : { through: depth > 0 ? 'container' : 'place' }),
    ...(requestId === '' ? {} : { requestId }),
    knownAt: String(knownFrom),
  };
}
