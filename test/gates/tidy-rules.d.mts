export interface TreeFile {
  /** Relative to the root of the tree, with `/`. */
  path: string;
  /** Absent for what is not text. */
  text?: string;
}

export interface Finding {
  rule: string;
  file: string;
  message: string;
}

export type TidyRule = (files: TreeFile[]) => Finding[];

export const fileLines: TidyRule;
export const bannedNames: TidyRule;
export const folderDepth: TidyRule;
export const libraryOpening: TidyRule;
export const switchedOffWithReason: TidyRule;
export const machinePaths: TidyRule;
export const foreignHosts: TidyRule;
export const lockWithoutHosts: TidyRule;
export const lockComplete: TidyRule;
export const exactVersions: TidyRule;
export const documentedCommands: TidyRule;
export const documentLinks: TidyRule;
export const references: TidyRule;
export const cellWords: TidyRule;
export const mergeMarkers: TidyRule;
export const TIDY_RULES: TidyRule[];
export function markedCommands(files: TreeFile[]): { document: string; command: string }[];
