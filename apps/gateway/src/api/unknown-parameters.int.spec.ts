import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { TestHarness } from '../../test/test-harness.js';

interface Api {
  paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
}

let harness: TestHarness;
let api: Api;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  api = (await harness.ask('/v1/openapi.json')).json<Api>();
});
afterAll(() => harness.stop());

/** Every operation that takes a key, its path filled in. */
const operations = () =>
  Object.entries(api.paths)
    .filter(([path]) => !path.startsWith('/health'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => ({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, '1'),
        names: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
      })),
    );
const said = async (method: string, path: string): Promise<unknown[]> => {
  const answer = await harness.ask(path, { method });
  const { field, detail } = answer.text === '' ? {} : answer.json<{ field?: string; detail?: string }>();
  return [answer.status, field, detail];
};

describe('a parameter that a route does not have', () => {
  it('is refused by name on every route', async () => {
    const all = operations();
    expect(all.length).toBeGreaterThan(70);
    for (const { method, path } of all)
      expect([method, path, ...(await said(method, `${path}?as_off=1`))]).toEqual([
        ...[method, path, 400, 'as_off', 'as_off: no such parameter'],
      ]);
  });

  it('is none that is described', async () => {
    for (const { method, path, names } of operations())
      for (const name of names.filter((one) => one !== 'wait')) {
        const [, , detail] = await said(method, `${path}?${name}=`);
        expect([method, path, name, String(detail)]).not.toEqual([method, path, name, `${name}: no such parameter`]);
      }
  });

  it('is refused where another route has it: the file of a series is always about now', async () => {
    const path = '/v1/series/04600000000015/A1?as_of=2026-01-01T00:00:00Z';
    expect(await said('GET', path)).toEqual([400, 'as_of', 'as_of: no such parameter']);
    expect(await said('HEAD', path)).toEqual([400, undefined, undefined]);
  });

  it('does no harm to the page of documentation', async () => {
    expect((await harness.ask('/docs?from=here')).status).toBe(200);
  });
});
