/**
 * The log, or what the auditor keeps of it in the database, is not what was signed. Nothing is sealed and nothing is
 * signed on top of it before a person has told why.
 */
export class Contradiction extends Error {
  override readonly name = 'Contradiction';

  /** `leaf`: the first one that is known to differ, where that is known. */
  constructor(
    message: string,
    readonly leaf?: number,
  ) {
    super(message);
  }
}
