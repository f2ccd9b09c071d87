import { inspect } from 'node:util';

/**
 * Every error code that leaves the service, with its HTTP status (RFC 9457 problem documents). One table, one place.
 */
export const ERROR_CODES = {
  invalid_json: 400,
  invalid_command: 400,
  missing_body: 400,
  invalid_parameter: 400,
  malformed_xml: 422,
  forbidden_xml: 422,
  unknown_document_type: 422,
  schema_violation: 422,
  invalid_identifier: 422,
  too_many_items: 422,
  unknown_account: 422,
  body_too_large: 413,
  unsupported_media_type: 415,
  request_timeout: 408,
  results_unread: 408,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  command_conflict: 409,
  not_resendable: 409,
  not_held: 409,
  not_holdable: 409,
  not_given_up: 409,
  group_not_resumable: 409,
  case_conflict: 409,
  suspension_conflict: 409,
  upload_conflict: 409,
  list_changed: 409,
  outcomes_removed: 410,
  too_many_wrong_keys: 429,
  too_many_accesses: 429,
  backlog_full: 503,
  not_sealed_yet: 503,
  unavailable: 503,
  signing_failed: 502,
  invalid_configuration: 500,
  invalid_schema_set: 500,
  internal: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * Where in the input the error lies: a JSON pointer, a line, an item, an element's name. All optional, at least one
 * given.
 */
export interface ErrorPlace {
  /** RFC 6901 pointer, or the name of a configuration variable. */
  field?: string;
  /** 1-based line of an XML or NDJSON text. */
  line?: number;
  /** The SGTIN, SSCC or command id at fault. */
  item?: string;
  /** The element's name or path in an XML document. */
  element?: string;
  /** Name of a file. */
  file?: string;
}

/** Bad input, said in words: code, what is wrong, and where. Anything else that is thrown is a fault of ours. */
export class PedigreeError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly place: ErrorPlace = {},
  ) {
    super(message);
    this.name = 'PedigreeError';
  }

  get httpStatus(): number {
    return ERROR_CODES[this.code];
  }
}

/** A parameter or a field of a request that is wrong: the sentence begins with its name. */
export const invalidParameter = (field: string, why: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${field}: ${why}`, { field });

/** The same for a variable of the environment, or an option of the command line. */
export const invalidConfiguration = (field: string, why: string): PedigreeError =>
  new PedigreeError('invalid_configuration', `${field}: ${why}`, { field });

/** What was thrown, in its own words; an error without any (a refused connection to several addresses) by its code. */
export function wordsOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return typeof message === 'string' && message !== '' ? message : String(code ?? error);
}

/** Ends a switch over a closed union: reaching it is a broken invariant. */
export function neverReached(value: never, what: string): never {
  throw new Error(`unknown ${what}: ${inspect(value, { depth: 2, maxStringLength: 200 })}`);
}
