import { isSgtin, type Sscc } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { ContainerContent } from '../port.js';
import { fieldsOf } from '../shapes.js';
import { NEVER, readContent, type Content } from './content.js';
import { knownOf } from './item-life.js';
import type { Stay } from './containment.js';
import { COUNTS, hasHeardOf, microsOf, OF_DOCUMENT, type Known } from './life-rows.js';
import { checkSscc, type HistoryOptions } from './query.js';
import { MOVEMENT_DOCUMENT, type MovementDocument } from './row.js';
import { ANNOUNCES, questionAbout, thatBrought, type ContentQuestion } from './content-question.js';
import { sentenceOfFinding, sentenceOfUnknown } from './sentences.js';
import { tellingDocument } from './shape.js';

const DOCUMENTS = `SELECT coalesce(d.document_id, s.document_id) AS "documentId",
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM movement_document d LEFT JOIN sent_document s ON s.request_id = d.request_id AND d.document_id IS NULL
  WHERE d.known_from = ANY($1::bigint[]) ORDER BY d.known_from`;
/** When a container last came to us, and when it was last announced, in microseconds. */
const BROUGHT = `SELECT ${microsOf('max(d.ordered_at)')} AS came,
    ${microsOf(`max(d.ordered_at) FILTER (WHERE d.doc_type IN (${ANNOUNCES}))`)} AS announced
  ${thatBrought('$1', COUNTS)}`;
/** When a container came by this document, in microseconds. */
const CAME = `SELECT ${microsOf('max(d.ordered_at)')} AS at FROM movement_document d
  WHERE d.document_id = $1 AND ${COUNTS}`;

/**
 * What a container held, as a tree, as of a moment and as known at one. `undefined` when no document that was known
 * then had named it. `isKnown` is false where neither a document nor the registry told what is in it: then an empty
 * content says nothing, and `unknown` tells why. One that was opened since it last came is known to hold nothing.
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
  const { stays, own, held, emptied, findings } = await readContent(db, sscc, { known, types });
  const question = await questionAbout(db, sscc, known);
  const isKnown = stays.length > 0 || (await isToldEmpty(db, sscc, { known, held, emptied, question }));
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
 * Whether somebody told what is in a container in which nothing lies. What is known of it ends when it comes again with
 * nothing in it by our record: somebody else may have filled it. Opening it since tells, for then whatever lay in it is
 * in it no more.
 */
async function isToldEmpty(
  db: Queryable,
  sscc: string,
  of: { known: Known; question: ContentQuestion | undefined } & Pick<Content, 'held' | 'emptied'>,
): Promise<boolean> {
  const { known, held, emptied, question } = of;
  const { rows } = await db.query<Brought>(BROUGHT, [sscc, known.knownAt, known.asOf]);
  // Of no rows max() gives one of NULL.
  const { came, announced } = rows[0] as Brought;
  const asked = question === undefined ? NEVER.at : await arrivalOf(db, question, known);
  const newest = came !== null && came > asked ? came : asked;
  if (emptied !== undefined && emptied.at > newest) return true;
  if (question?.standing === 'told' && (announced === null || announced <= asked)) return true;
  // It was asked because our record had nothing in it.
  if (question !== undefined && question.standing !== 'told') return false;
  return held.some((stay) => came === null || lasted(stay, came));
}

const lasted = ({ from, to }: Stay, at: bigint): boolean => from.at < at && (to === undefined || to.at >= at);

interface Brought {
  came: bigint | null;
  announced: bigint | null;
}

/** When the container came because of which this was asked, in microseconds. */
async function arrivalOf(db: Queryable, question: ContentQuestion, { knownAt, asOf }: Known): Promise<bigint> {
  const { rows } = await db.query<{ at: bigint | null }>(CAME, [question.documentId, knownAt, asOf]);
  return rows[0]?.at ?? BigInt(question.askedAt.getTime()) * 1_000n;
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
