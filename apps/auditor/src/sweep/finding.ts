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

export const findingWords = ({ what, where, expected, found }: Finding): string =>
  `${what.replaceAll('_', ' ')}: ${where}: expected ${expected}, found ${found}`;
