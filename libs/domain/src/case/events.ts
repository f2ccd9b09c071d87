import { canonicalJson, uuid5, type Sha256 } from '#kernel';
import type { DocumentOutcome } from '../document/events.js';

/** From the worst to the least. */
export const CASE_SEVERITIES = ['critical', 'warning', 'information'] as const;
export type CaseSeverity = (typeof CASE_SEVERITIES)[number];

/** How a person says that a case has ended. */
export const CASE_RESOLUTIONS = [
  ...(['corrected_here', 'corrected_at_registry', 'explained', 'false_alarm', 'written_off', 'other'] as const),
] as const;
type CaseResolution = (typeof CASE_RESOLUTIONS)[number];

/** Kinds of runs: of our documents with the lists of the registry, and of packs. */
export const CASE_RUN_KINDS = ['documents', 'packs'] as const;

/**
 * What findings of one code have in common. `document`: its request_id, or the registry's id where it is not ours.
 * `container`: the outermost one that the findings name. `series`: what is in no container, by product, series and
 * place; null where none is known. `part`: what a person took out of another case.
 */
export type CaseCause =
  | { kind: 'document'; document: string }
  | { kind: 'container'; container: string }
  | { kind: 'series'; gtin: string; series: string | null; place: string | null }
  | { kind: 'part'; of: string; items: string[] };

/** A run, as the cases name it. `moment` (ISO 8601) is that from which its ages count. */
export interface CaseRun {
  kind: (typeof CASE_RUN_KINDS)[number];
  id: string;
  moment: string;
}

/** Rows of the file of items of a run's folder, from 0, `to` exclusive; without a file numbers of findings. */
interface CaseRows {
  file?: string;
  from: number;
  to: number;
}

/** Items of a case that stand in the rows of an earlier run. */
export interface OlderItems {
  /** Id of the run. */
  run: string;
  count: number;
  rows?: CaseRows;
}

/** What a run found of a case. The items themselves stay with the run. */
export interface CaseSighting {
  run: CaseRun;
  /** Items, or documents; at least so many where `older` may name some of them, too. */
  count: number;
  /** How many of these the run did not find, and could not tell that they are over; absent: none. */
  unjudged?: number;
  /** Of all findings of the run. */
  findingsSha256: Sha256;
  /** Where they stand. */
  rows?: CaseRows;
  /** Items that are in the case, too, and were not at hand: the run neither found nor judged them. */
  older?: OlderItems[];
  /** Of hung stock: days without movement by which its items were found; absent: not known of all. */
  hungDays?: number;
  /** Sides of a comparison of packs without which a later run cannot tell that it is over. */
  legs?: string[];
  /** Places of the items; null: unknown, or too many to name. */
  places?: string[] | null;
}

/** A difference, or a document that needs somebody, was found for the first time. */
export interface CaseOpened {
  type: 'CaseOpened';
  data: {
    caseId: string;
    /** Reason code. */
    code: string;
    cause: CaseCause;
    severity: CaseSeverity;
    /** ISO 8601. */
    dueAt: string;
    seen: CaseSighting;
  };
}

/** Another run found it. */
interface CaseSeen {
  type: 'CaseSeen';
  data: {
    caseId: string;
    severity: CaseSeverity;
    /** Where it is due earlier now. */ dueAt?: string;
    /** It was explained, and is worse, or has items of which the explanation did not speak: it is open again. */
    news?: true;
    seen: CaseSighting;
  };
}

/** A run that looked for it did not find it; it goes on, for runs of the other kind have seen it. */
interface CaseMissed {
  type: 'CaseMissed';
  data: { caseId: string; run: CaseRun; findingsSha256: Sha256 };
}

/** It was resolved, and is back: a later run found it, or a person says so. */
export interface CaseReopened {
  type: 'CaseReopened';
  data: {
    caseId: string;
    severity: CaseSeverity;
    dueAt: string;
    /** Absent: by a person. */ seen?: CaseSighting;
    /** When the person did, ISO 8601: a run of an earlier moment does not resolve it again. */
    at?: string;
  };
}

/** A person has taken note of it; who is in the metadata, here and below. */
interface CaseAcknowledged {
  type: 'CaseAcknowledged';
  data: { caseId: string };
}

/** `assignee` null: to nobody. */
interface CaseAssigned {
  type: 'CaseAssigned';
  data: { caseId: string; assignee: string | null };
}

interface CaseCommented {
  type: 'CaseCommented';
  data: { caseId: string; text: string };
}

/** A person knows why, and that it will pass. It holds for so many items: with more the case is open again. */
interface CaseExplained {
  type: 'CaseExplained';
  data: { caseId: string; text: string; count: number };
}

/** Why a case is over: a person says so, a run looked and found it no more, or a receipt of its remedy. */
export type CaseEnd =
  | { kind: 'person'; resolution: CaseResolution; note: string }
  | { kind: 'run'; run: CaseRun; findingsSha256: Sha256 }
  | { kind: 'receipt'; requestId: string; documentId?: string; receiptSha256?: Sha256 };

export interface CaseResolved {
  type: 'CaseResolved';
  data: { caseId: string; /** ISO 8601: findings of earlier runs say nothing against it. */ at: string; by: CaseEnd };
}

/** Some of its items are a case of their own from here on. */
export interface CaseSplit {
  type: 'CaseSplit';
  data: { caseId: string; part: string; items: string[]; /** How many of the last sighting they are. */ count: number };
}

/** A person has the suggested document sent. It is a command that the intake is given next. */
export interface CaseRemedyReleased {
  type: 'CaseRemedyReleased';
  data: {
    caseId: string;
    action: string;
    commandId: string;
    requestId: string;
    /** The account that the person named. */ account?: string;
  };
}

/** How that ended. `not_taken`: the intake refused it, `why` in its words; there is no such document. */
export interface CaseRemedyConcluded {
  type: 'CaseRemedyConcluded';
  data: {
    caseId: string;
    requestId: string;
    outcome: DocumentOutcome | 'not_taken';
    why?: string;
    documentId?: string;
    receiptSha256?: Sha256;
  };
}

export type CaseEvent =
  | (CaseOpened | CaseSeen | CaseMissed | CaseReopened | CaseAcknowledged | CaseAssigned | CaseCommented)
  | (CaseExplained | CaseResolved | CaseSplit | CaseRemedyReleased | CaseRemedyConcluded);

export const CASE_STREAM_PREFIX = 'case-';
export const caseStream = (caseId: string): string => `${CASE_STREAM_PREFIX}${caseId}`;
export const caseIdOfStream = (stream: string): string => stream.slice(CASE_STREAM_PREFIX.length);

const NAMESPACE = '9c1a64b5-7d1e-4b0b-9d8d-6a2f4b7c9e30';

/** One case for ever: it hangs on the reason code and the cause, and on no run and no number of items. */
export const caseIdOf = (code: string, cause: CaseCause): string => uuid5(canonicalJson([code, cause]), NAMESPACE);

/** The part of a case that holds these items. */
export const partOf = (caseId: string, items: readonly string[]): CaseCause & { kind: 'part' } => ({
  kind: 'part',
  of: caseId,
  items: [...new Set(items)].sort(),
});
