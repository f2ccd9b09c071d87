import type { EventStore } from '#event-store';
import { isSgtin, isSscc, type Sscc } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { ContainerContent } from '../port.js';
import { fieldsOf } from '../shapes.js';
import { NEVER, readContent, type Content } from './content.js';
import { knownOf } from './item-life.js';
import type { Moment, Stay } from './containment.js';
import { COUNTS, hasHeardOf, microsOf, OF_DOCUMENT, type Known } from './life-rows.js';
import { checkSscc, type HistoryOptions } from './query.js';
import { MOVEMENT_DOCUMENT, type MovementDocument } from './row.js';
import { ANNOUNCES, questionsAbout, thatBrought, toldWithin, type ContentQuestion } from './content-question.js';
import { sentenceOfFinding, sentenceOfInside, sentenceOfUnknown } from './sentences.js';
import { tellingDocument } from './shape.js';

const DOCUMENTS = `SELECT coalesce(d.document_id, s.document_id) AS "documentId",
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}
  FROM movement_document d LEFT JOIN sent_document s ON s.request_id = d.request_id AND d.document_id IS NULL
  WHERE d.known_from = ANY($1::bigint[]) ORDER BY d.known_from`;
/**
 * When containers ($1) last came to us, when they were last announced, and when they came with what the registry told
 * of one around them, in microseconds.
 */
const BROUGHT = `SELECT named.sscc, ${microsOf('brought.came')} AS came, ${microsOf('brought.announced')} AS announced,
    ${microsOf(toldWithin('named.sscc', COUNTS))} AS told
  FROM unnest($1::text[]) AS named (sscc) CROSS JOIN LATERAL (
    SELECT max(d.ordered_at) AS came, max(d.ordered_at) FILTER (WHERE d.doc_type IN (${ANNOUNCES})) AS announced
    ${thatBrought('named.sscc', COUNTS)}) AS brought`;
/** When containers came by these documents ($1), in microseconds. */
const CAME = `SELECT d.document_id AS "documentId", ${microsOf('max(d.ordered_at)')} AS at FROM movement_document d
  WHERE d.document_id = ANY ($1::text[]) AND ${COUNTS} GROUP BY 1`;

/** With the log, which has what was asked and answered. */
export type ContentOptions = HistoryOptions & { store: Pick<EventStore, 'readStream'> };

/**
 * What a container held, as a tree, as of a moment and as known at one. `undefined` when no document that was known
 * then had named it. `isKnown` is false where neither a document nor the registry told what is in it, or in one of the
 * containers in it: then an empty content says nothing, and `unknown` tells why. One that was opened since it last came
 * is known to hold nothing.
 * @throws PedigreeError `invalid_identifier`, and `too_many_items` above 50,000 items.
 */
export async function contentOf(
  db: Queryable,
  sscc: Sscc,
  options: ContentOptions,
): Promise<ContainerContent | undefined> {
  checkSscc(sscc);
  const { types, store, knownAt } = options;
  const known = await knownOf(db, options);
  if (!(await hasHeardOf(db, sscc, known))) return undefined;
  const content = await readContent(db, sscc, { known, types });
  const { stays, own, findings } = content;
  const positions = new Set([...stays, ...(own === undefined ? [] : [own])].map(({ from }) => from.position));
  const documents = await documentsAt(db, [...positions], types);
  const ssccs = emptyOnes(sscc, content);
  const questions = await questionsAbout({ db, store }, ssccs, knownAt);
  const unknown = await unknownContents(db, ssccs, { known, content, questions });
  const packs = stays.filter(({ item }) => isSgtin(item)).length;
  return {
    sscc,
    ...present({ container: own?.container }),
    ...(unknown.size === 0 ? { isKnown: true } : { isKnown: false, unknown: unknownOf(sscc, unknown) }),
    packs,
    containers: stays.length - packs,
    items: stays.map(({ item, container, level, from }) => ({
      item,
      container,
      level,
      knownAt: String(from.position),
      ...present({ contentUnknown: unknown.has(item) ? sentenceOfUnknown(unknown.get(item)) : undefined }),
    })),
    documents,
    findings: findings.map(({ position, at: _, ...finding }) => ({
      kind: finding.kind,
      sentence: sentenceOfFinding(finding),
      knownAt: String(position),
    })),
  };
}

/** The container and those in it in which nothing lies. */
function emptyOnes(sscc: string, { stays }: Content): string[] {
  const full = new Set(stays.map(({ container }) => container));
  return [sscc, ...stays.map(({ item }) => item).filter(isSscc)].filter((one) => !full.has(one));
}

/** Those of these containers, in which nothing lies, of which nobody told what is in them; with what was asked. */
async function unknownContents(
  db: Queryable,
  ssccs: string[],
  { known, content, questions }: { known: Known; content: Content; questions: ReadonlyMap<string, ContentQuestion> },
): Promise<Map<string, ContentQuestion | undefined>> {
  if (ssccs.length === 0) return new Map();
  const { knownAt, asOf } = known;
  const { rows } = await db.query<Brought>(BROUGHT, [ssccs, knownAt, asOf]);
  const brought = new Map(rows.map((row) => [row.sscc, row]));
  const documentIds = [...questions.values()].map(({ documentId }) => documentId);
  const arrivals = await db.query<{ documentId: string; at: bigint }>(CAME, [documentIds, knownAt, asOf]);
  const cameBy = new Map(arrivals.rows.map(({ documentId, at }) => [documentId, at]));
  const unknown = ssccs.filter((sscc) => {
    const question = questions.get(sscc);
    const asked = question && (cameBy.get(question.documentId) ?? BigInt(question.askedAt.getTime()) * 1_000n);
    const { came = null, announced = null, told = null } = brought.get(sscc) ?? {};
    return !isToldEmpty({
      ...{ came, announced, told, asked: asked ?? NEVER.at, question },
      ...{ emptied: content.emptied.get(sscc), held: content.heldIn.get(sscc) ?? [] },
    });
  });
  return new Map(unknown.map((sscc) => [sscc, questions.get(sscc)]));
}

interface Brought {
  sscc: string;
  came: bigint | null;
  announced: bigint | null;
  told: bigint | null;
}

/**
 * Whether somebody told what is in a container in which nothing lies. What is known of it ends when it comes again with
 * nothing in it by our record: somebody else may have filled it. Opening it since tells, for then whatever lay in it is
 * in it no more. `UNKNOWN_NOW` has the same rule. `asked`: when it came because of which it was asked; `told`: when it
 * came with what the registry told of one around it.
 */
function isToldEmpty({
  came,
  announced,
  told,
  asked,
  question,
  emptied,
  held,
}: Omit<Brought, 'sscc'> & {
  asked: bigint;
  question: ContentQuestion | undefined;
  emptied: Moment | undefined;
  held: Stay[];
}): boolean {
  const newest = came !== null && came > asked ? came : asked;
  if (emptied !== undefined && emptied.at > newest) return true;
  const isTold = (at: bigint): boolean => at >= asked && (announced === null || at >= announced);
  if ((question?.standing === 'told' && isTold(asked)) || (told !== null && isTold(told))) return true;
  // It was asked because our record had nothing in it.
  if (question !== undefined && question.standing !== 'told') return false;
  return held.some((stay) => came === null || lasted(stay, came));
}

const lasted = ({ from, to }: Stay, at: bigint): boolean => from.at < at && (to === undefined || to.at >= at);

type Unknown = NonNullable<ContainerContent['unknown']>;

/** Why the content is not known: of the container itself, or of the first of those in it. */
function unknownOf(sscc: string, unknown: ReadonlyMap<string, ContentQuestion | undefined>): Unknown {
  if (unknown.has(sscc)) return whyUnknown(unknown.get(sscc));
  const [first] = unknown;
  return { ...whyUnknown(first?.[1]), sentence: sentenceOfInside([...unknown.keys()]) };
}

function whyUnknown(question: ContentQuestion | undefined): Unknown {
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
