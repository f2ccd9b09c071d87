import type { Said } from './said.js';

/** The registry says no: an HTTP status and a reason (public-facts 1.9, shape 1). */
export class Refusal extends Error {
  constructor(
    readonly httpStatus: number,
    readonly text: string,
    readonly headers: Record<string, string> = {},
    /** In which words of the live service that goes out. */
    readonly said: Said | undefined = httpStatus === 404 ? 'not_found' : undefined,
  ) {
    super(text);
  }
}

export const refuse = (httpStatus: number, text: string, said?: Said): Refusal =>
  new Refusal(httpStatus, text, {}, said);
