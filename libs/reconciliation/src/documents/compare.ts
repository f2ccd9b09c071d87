import { createHash, type Hash } from 'node:crypto';
import type { DocumentOutcome } from '#domain';
import { canonicalJson, type Sha256 } from '#kernel';
import { FINDING_KINDS, REASON_CODES, type Finding, type FindingKind } from './finding.js';

/** A document of ours, as the read model has it. Instants are ISO 8601 in UTC. */
export interface OwnDocument {
  requestId: string;
  documentId: string | null;
  account: string;
  docType: number;
  outcome: DocumentOutcome | null;
  registeredAt: string;
  concludedAt: string | null;
}

/** An outgoing document, as a list showed it. */
export interface ListedDocument {
  requestId: string;
  documentId: string;
  status: string;
  /** When a list first showed this status. */
  statusAt: string;
}

/** From when to when an account's outgoing list was read without a gap. */
export interface Coverage {
  account: string;
  from: string;
  to: string;
}

/** What a comparison goes by, besides the two sides. */
export interface ComparisonRules {
  /** The moment at which the sides were read. */
  asOf: string;
  coverage: Coverage[];
  /** A list may be behind a conclusion by so long. */
  missingAfterMs: number;
  /** A document may be without an outcome for so long; by type where that differs. */
  overdueAfterMs: number;
  overdueAfterMsByType: Record<string, number>;
}

export interface ComparisonSides {
  /** In the order of request_id, by bytes; each once. */
  own: AsyncIterable<OwnDocument>;
  /** In the order of request_id, then document_id, by bytes. */
  listed: AsyncIterable<ListedDocument>;
  /** Listed documents without a request_id, by document_id. */
  nameless: ReadonlyMap<string, ListedDocument>;
}

export interface ComparisonResult {
  counts: Record<FindingKind, number> & {
    documents: number;
    listed: number;
    /** Not looked for: no list has covered their time. */ notCovered: number;
    /** The list's status is older than our conclusion. */ staleStatus: number;
  };
  digests: { documents: Sha256; listed: Sha256; findings: Sha256 };
}

/** Listed documents of one request_id that are held at a time; more are counted. */
const MOST_UNDER_ONE = 1_000;
const MOST_NAMED = 20;
const FINAL = new Set(['processed', 'failed_result_ready', 'failed']);
/** Statuses that fit an outcome. A document taken in part may be shown as either. */
const FITTING: Record<DocumentOutcome, string[]> = {
  accepted: ['processed'],
  partial: ['processed', 'failed_result_ready'],
  rejected: ['failed_result_ready', 'failed'],
  failed: ['failed'],
};

/**
 * Compares both sides in one walk, of which it holds one request_id at a time. `found` gets each finding, in the order
 * of request_id and kind. The same sides and rules give the same findings and the same digests, whenever and wherever
 * (principles 2.8).
 */
export async function compareDocuments(
  rules: ComparisonRules,
  sides: ComparisonSides,
  found: (finding: Finding) => Promise<void> | void,
): Promise<ComparisonResult> {
  const walk = new Walk(rules, sides.nameless);
  for await (const { own, listed, count } of together(sides))
    for (const finding of walk.step(own, listed, count)) await found(finding);
  return walk.result();
}

class Walk {
  private readonly coverage: Map<string, Coverage>;
  private readonly counts: ComparisonResult['counts'];
  private readonly hashes = {
    documents: createHash('sha256'),
    listed: createHash('sha256'),
    findings: createHash('sha256'),
  };

  constructor(
    private readonly rules: ComparisonRules,
    private readonly nameless: ReadonlyMap<string, ListedDocument>,
  ) {
    this.coverage = new Map(rules.coverage.map((one) => [one.account, one]));
    const none = Object.fromEntries(FINDING_KINDS.map((kind) => [kind, 0])) as Record<FindingKind, number>;
    this.counts = { ...none, documents: 0, listed: nameless.size, notCovered: 0, staleStatus: 0 };
    for (const one of [...nameless.values()].sort((a, b) => byBytes(a.documentId, b.documentId)))
      line(this.hashes.listed, one);
  }

  step(own: OwnDocument | undefined, listed: ListedDocument[], count: number): Finding[] {
    const { counts, hashes } = this;
    counts.listed += count;
    for (const one of listed) line(hashes.listed, one);
    if (own !== undefined) {
      counts.documents += 1;
      line(hashes.documents, own);
    }
    const findings = [...(own === undefined ? [] : this.ofOne(own, listed)), ...heldTwice(own, listed, count)];
    for (const finding of findings) {
      counts[finding.kind] += 1;
      line(hashes.findings, finding);
    }
    return findings;
  }

  result(): ComparisonResult {
    const { documents, listed, findings } = this.hashes;
    return {
      counts: this.counts,
      digests: { documents: documents.digest('hex'), listed: listed.digest('hex'), findings: findings.digest('hex') },
    };
  }

  private ofOne(own: OwnDocument, listed: ListedDocument[]): Finding[] {
    if (own.outcome === null || own.concludedAt === null) return this.overdue(own);
    const shown = this.shownOf(own, listed);
    const concluded = { ...own, outcome: own.outcome, concludedAt: own.concludedAt };
    if (shown !== undefined) return this.statusOf(concluded, shown);
    return own.documentId === null ? [] : this.missing(concluded);
  }

  /** One that we ended as not taken has no id with us: whatever the list shows under its request_id is it. */
  private shownOf({ documentId }: OwnDocument, listed: ListedDocument[]): ListedDocument | undefined {
    if (documentId === null) return listed[0];
    return listed.find((one) => one.documentId === documentId) ?? this.nameless.get(documentId);
  }

  private overdue(own: OwnDocument): Finding[] {
    const limitMs = this.rules.overdueAfterMsByType[String(own.docType)] ?? this.rules.overdueAfterMs;
    const ageMs = Date.parse(this.rules.asOf) - Date.parse(own.registeredAt);
    return ageMs > limitMs ? [findingOf('overdue', own, { registeredAt: own.registeredAt, limitMs })] : [];
  }

  private missing(own: Concluded): Finding[] {
    if (own.outcome !== 'accepted' && own.outcome !== 'partial') return [];
    const covered = this.coverage.get(own.account);
    const isCovered =
      covered !== undefined &&
      covered.from <= own.registeredAt &&
      Date.parse(covered.to) - Date.parse(own.concludedAt) >= this.rules.missingAfterMs;
    if (!isCovered) return ((this.counts.notCovered += 1), []);
    return [
      findingOf('missing_at_registry', own, {
        outcome: own.outcome,
        concludedAt: own.concludedAt,
        listReadTo: covered.to,
      }),
    ];
  }

  private statusOf(own: Concluded, shown: ListedDocument): Finding[] {
    if (!FINAL.has(shown.status) || FITTING[own.outcome].includes(shown.status)) return [];
    if (shown.statusAt < own.concludedAt) return ((this.counts.staleStatus += 1), []);
    return [
      findingOf('status_differs', own, {
        outcome: own.outcome,
        concludedAt: own.concludedAt,
        status: shown.status,
        statusAt: shown.statusAt,
      }),
    ];
  }
}

type Concluded = OwnDocument & { outcome: DocumentOutcome; concludedAt: string };

function findingOf(kind: FindingKind, own: OwnDocument, detail: Finding['detail']): Finding {
  const { requestId, documentId, account, docType } = own;
  return {
    kind,
    reasonCode: REASON_CODES[kind],
    requestId,
    ...(documentId === null ? {} : { documentId }),
    account,
    docType,
    detail,
  };
}

function heldTwice(own: OwnDocument | undefined, listed: ListedDocument[], count: number): Finding[] {
  const [first] = listed;
  if (first === undefined || count < 2) return [];
  const detail = { count, documentIds: listed.slice(0, MOST_NAMED).map((one) => one.documentId) };
  if (own !== undefined) return [findingOf('held_twice', own, detail)];
  return [{ kind: 'held_twice', reasonCode: REASON_CODES.held_twice, requestId: first.requestId, detail }];
}

const line = (hash: Hash, value: object): void => void hash.update(`${canonicalJson(value)}\n`);

/** The order of the database's "C" collation. */
export const byBytes = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

/**
 * Both sides request_id by request_id. Throws when a side is not in order: what it holds would be compared with
 * nothing.
 */
async function* together({
  own,
  listed,
}: ComparisonSides): AsyncGenerator<{ own: OwnDocument | undefined; listed: ListedDocument[]; count: number }> {
  const ours = new Ordered(own, (a, b) => byBytes(a.requestId, b.requestId) < 0);
  const theirs = new Ordered(
    listed,
    (a, b) =>
      byBytes(a.requestId, b.requestId) < 0 || (a.requestId === b.requestId && byBytes(a.documentId, b.documentId) < 0),
  );
  await Promise.all([ours.next(), theirs.next()]);
  while (ours.current !== undefined || theirs.current !== undefined) {
    const requestId = least(ours.current?.requestId, theirs.current?.requestId);
    let mine: OwnDocument | undefined;
    if (ours.current?.requestId === requestId) {
      mine = ours.current;
      await ours.next();
    }
    const held: ListedDocument[] = [];
    let count = 0;
    for (; theirs.current?.requestId === requestId; await theirs.next()) {
      count += 1;
      if (held.length < MOST_UNDER_ONE) held.push(theirs.current);
    }
    yield { own: mine, listed: held, count };
  }
}

const least = (a: string | undefined, b: string | undefined): string =>
  a === undefined ? (b as string) : b === undefined || byBytes(a, b) < 0 ? a : b;

class Ordered<T> {
  current: T | undefined;
  private readonly source: AsyncIterator<T>;

  constructor(
    source: AsyncIterable<T>,
    private readonly isBefore: (a: T, b: T) => boolean,
  ) {
    this.source = source[Symbol.asyncIterator]();
  }

  async next(): Promise<void> {
    const last = this.current;
    const { value, done } = await this.source.next();
    this.current = done === true ? undefined : (value as T);
    if (last !== undefined && this.current !== undefined && !this.isBefore(last, this.current))
      throw new Error('a side of the comparison is not in order');
  }
}
