/** Hears the tags and texts of a document in order, each with the line of its end. What it throws ends the reading. */
export interface XmlTokens {
  open(name: string, attributes: Readonly<Record<string, string>>, line: number): void;
  close(name: string, line: number): void;
  /** A text or a part of one. */
  text(part: string, line: number): void;
  /** A CDATA section, or a comment as an empty text. */
  broken(part: string, line: number): void;
}

/** A place between two tokens. */
export interface XmlPlace {
  /** Index of the next character. */
  at: number;
  line: number;
  /** Names of the elements that are open there, the outermost first. */
  open: readonly string[];
  /** Is the root element closed? */
  isBehindRoot: boolean;
}
