import { isSgtin, type Sscc } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { ContainerContent } from '../port.js';
import { fieldsOf } from '../shapes.js';
import { readContent } from './content.js';
import { knownOf } from './item-life.js';
import type { Moment } from './containment.js';
import { COUNTS, hasHeardOf, OF_DOCUMENT, type Known } from './life-rows.js';
import { checkSscc, type HistoryOptions } from './query.js';
import { MOVEMENT_DOCUMENT, type MovementDocument } from './row.js';
import { questionAbout, type ContentQuestion } from './content-question.js';
import { sentenceOfFinding, sentenceOfUnknown } from './sentences.js';
import { tellingDocument } from './shape.js';

const DOCUMENTS = `SELECT coalesce(d.document_id, s.document_id) AS "documentId",
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM movement_document d LEFT JOIN sent_document s ON s.request_id = d.request_id AND d.document_id IS NULL
  WHERE d.known_from = ANY($1::bigint[]) ORDER BY d.known_from`;
const WAS_PACKED = `SELECT EXISTS (SELECT FROM containment c JOIN movement_document d ON d.known_from = c.known_from
  WHERE c.parent = $1 AND ${COUNTS}) AS packed`;
/** When a container came by this document, in microseconds. */
const CAME = `SELECT (extract(epoch FROM max(d.ordered_at)) * 1000000)::bigint AS at FROM movement_document d
  WHERE d.document_id = $1 AND ${COUNTS}`;

/**
 * What a container held, as a tree, as of a moment and as known at one. `undefined` when no document that was known
 * then had named it. `isKnown` is false where neither a document nor the registry told what is in it: then an empty
 * content says nothing, and `unknown` tells why. One that was opened since it came is known to hold nothing.
 * @throws PedigreeError `invalid_identifier`, and `too_many_items` above 50,000 items.
 */
export async function contentOf(
  db: Queryable,
  sscc: Sscc,
  options: HistoryOptions,
): Promise<ContainerContent | undefined> {
  checkSscc(sscc);
  const { types } = options;
  const known = await knownOf(db, options);
  if (!(await hasHeardOf(db, sscc, known))) return undefined;
  const { stays, own, emptied, findings } = await readContent(db, sscc, { known, types });
  const question = await questionAbout(db, sscc, known);
  const isKnown = stays.length > 0 || (await isToldEmpty(db, sscc, { known, emptied, question }));
  const positions = new Set([...stays, ...(own === undefined ? [] : [own])].map(({ from }) => from.position));
  const packs = stays.filter(({ item }) => isSgtin(item)).length;
  return {
    sscc,
    ...present({ container: own?.container }),
    ...(isKnown ? { isKnown } : { isKnown, unknown: unknownOf(question) }),
    packs,
    containers: stays.length - packs,
    items: stays.map(({ item, container, level, from }) => ({
      item,
      container,
      level,
      knownAt: String(from.position),
    })),
    documents: await documentsAt(db, [...positions], types),
    findings: findings.map(({ position, at: _, ...finding }) => ({
      kind: finding.kind,
      sentence: sentenceOfFinding(finding),
      knownAt: String(position),
    })),
  };
}

/**
 * Whether somebody told what is in a container in which nothing lies: also by opening it since it came, for then
 * whatever lay in it is in it no more.
 */
async function isToldEmpty(
  db: Queryable,
  sscc: Sscc,
  { known, emptied, question }: { known: Known; emptied: Moment | undefined; question: ContentQuestion | undefined },
): Promise<boolean> {
  const { knownAt, asOf } = known;
  if (question?.standing === 'told') return true;
  if (question !== undefined) {
    if (emptied === undefined) return false;
    const { rows } = await db.query<{ at: bigint | null }>(CAME, [question.documentId, knownAt, asOf]);
    return emptied.at > (rows[0]?.at ?? BigInt(question.askedAt.getTime()) * 1_000n);
  }
  if (emptied !== undefined) return true;
  const { rows } = await db.query<{ packed: boolean }>(WAS_PACKED, [sscc, knownAt, asOf]);
  return rows[0]?.packed === true;
}

/** Why the content is not known. */
function unknownOf(question: ContentQuestion | undefined): NonNullable<ContainerContent['unknown']> {
  if (question === undefined) return { standing: 'not_asked', sentence: sentenceOfUnknown() };
  const { askedAt, documentId, account, attempts, reason } = question;
  return {
    standing: question.standing === 'unavailable' ? 'given_up' : 'being_asked',
    ...{ since: askedAt.toISOString(), documentId, account, sentence: sentenceOfUnknown(question) },
    ...(reason === null ? {} : { reason }),
    ...(attempts === 0 ? {} : { attempts }),
  };
}

type DocumentRow = Pick<MovementDocument, (typeof OF_DOCUMENT)[number] | 'documentId'>;
const shown = fieldsOf(tellingDocument);

async function documentsAt(
  db: Queryable,
  positions: bigint[],
  { titleOf }: HistoryOptions['types'],
): Promise<ContainerContent['documents']> {
  const { rows } = await db.query<DocumentRow>(DOCUMENTS, [positions]);
  return rows.map(({ requestId, knownFrom, ...row }) => ({
    ...shown(row),
    title: titleOf(row.docType),
    ...(requestId === '' ? {} : { requestId }),
    knownAt: String(knownFrom),
  })) as ContainerContent['documents'];
}
