import { describe, expect, it } from '@jest/globals';
import { camelCase, snakeCase } from './snake-case.js';

describe('names at the edge', () => {
  const ours = {
    requestId: 'aB',
    documentSha256: 'c',
    items: [{ errorCode: '4', nextCursor: undefined }],
    counts: { unfinished: 0 },
    lookUp: null,
    data: [['someText']],
  };
  const theirs = {
    request_id: 'aB',
    document_sha256: 'c',
    items: [{ error_code: '4', next_cursor: undefined }],
    counts: { unfinished: 0 },
    look_up: null,
    data: [['someText']],
  };

  it('are in snake case outside and in camel case inside; values stay as they are', () => {
    expect(snakeCase(ours)).toEqual(theirs);
    expect(camelCase(theirs)).toEqual(ours);
  });
});
