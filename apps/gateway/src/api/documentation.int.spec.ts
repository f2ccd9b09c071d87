import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { TestHarness } from '../../test/test-harness.js';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

describe('the files of the documentation', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'package.json', '..%2fpackage.json'])(
    'are those that are named: /docs/%s is none',
    async (file) => {
      const answer = await harness.ask(`/docs/${file}`);
      expect([answer.status, answer.json()]).toEqual([404, expect.objectContaining({ code: 'not_found' })]);
    },
  );

  it.each(['%00', 'swagger-ui.css%00'])('hold no NUL in their names: /docs/%s', async (file) => {
    expect((await harness.ask(`/docs/${file}`)).json()).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      field: 'file',
    });
  });

  it.each([
    ['swagger-ui.css', 'text/css'],
    ['swagger-ui-bundle.js', 'text/javascript'],
    ['start.js', 'text/javascript'],
  ])('%s comes whole', async (file, mediaType) => {
    const answer = await harness.ask(`/docs/${file}`);
    expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([200, mediaType]);
    expect(answer.text).not.toBe('');
  });
});
