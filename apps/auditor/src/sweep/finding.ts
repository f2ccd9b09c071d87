/** What is not as it should be. */
export type FindingKind = 'event' | 'tile' | 'page' | 'checkpoint' | 'count' | 'memory' | 'evidence' | 'read_model';

export const FINDING_KINDS: readonly FindingKind[] = [
  'event',
  'tile',
  'page',
  'checkpoint',
  'count',
  'memory',
  'evidence',
  'read_model',
];

/** Whether this version looks for it. */
export const isKnownKind = (what: string): boolean => FINDING_KINDS.some((kind) => kind === what);

/** One thing that a sweep has found. Its words are its identity: the same thing found again has the same. */
export interface Finding {
  what: FindingKind;
  where: string;
  expected: string;
  found: string;
}

/** Hears of findings. */
export type Report = (finding: Finding) => Promise<void>;

const LONGEST = 500;

/** A part of what was found; long values are cut, and say so. */
export const shortened = (text: string): string =>
  text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length} characters)`;

/** What of a finding is told; one of a newer version may be of another kind. */
type Told = Omit<Finding, 'what'> & { what: string };

export const findingWords = ({ what, where, expected, found }: Told): string =>
  `${what.replaceAll('_', ' ')}: ${where}: expected ${expected}, found ${found}`;
