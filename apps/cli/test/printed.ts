import { afterEach, beforeEach, jest } from '@jest/globals';

/** What the test that runs has written to stdout, piece by piece; nothing of it is shown. */
export function printedInEachTest(): string[] {
  const printed: string[] = [];
  beforeEach(() => {
    printed.length = 0;
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  });
  afterEach(() => void jest.restoreAllMocks());
  return printed;
}
