/** The registry says no: an HTTP status and a text for `error_description` (public-facts 1.9, shape 1). */
export class Refusal extends Error {
  constructor(
    readonly httpStatus: number,
    readonly text: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(text);
  }
}

export const refuse = (httpStatus: number, text: string): Refusal => new Refusal(httpStatus, text);
