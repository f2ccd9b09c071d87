import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answer, ScriptedCaller } from '../../test/scripted-caller.js';
import { LISTS, type ListName } from '../lists/table.js';
import { loadProfile } from '../profile.js';
import { sized } from '../../../../test/support/sized.js';
import { RegistryOperations } from './operations.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

const profile = loadProfile('mdlp');
const document = { xml: Buffer.from('<documents/>'), requestId: 'r' };
type Run = (operations: RegistryOperations) => Promise<{ kind: string }>;
const LIST_RUNS = Object.keys(LISTS).map(
  (name): Run =>
    (o) =>
      o.lists.page('a', name as ListName, { path: { sscc: 's', halt_id: 'h' } }),
);
const RUNS: Run[] = [
  ...LIST_RUNS,
  (o) => o.sgtins.byList('a', ['x']),
  (o) => o.sgtins.one('a', 'x'),
  (o) => o.sgtins.product('a', 'x'),
  (o) => o.ssccs.hierarchy('a', 'x'),
  (o) => o.ssccs.fullHierarchy('a', 'x'),
  (o) => o.groups.check('a', ['x']),
  (o) => o.groups.start('a', ['x']),
  (o) => o.exports.create('a', { reportId: 'x' }),
  (o) => o.exports.state('a', 'x'),
  (o) => o.exports.file('a', 'x'),
  (o) => o.exports.remove('a', 'x'),
  (o) => o.largeDocuments.sizeLimit('a'),
  (o) => o.largeDocuments.cancel('a', { documentId: 'd', requestId: 'r' }),
  (o) => o.largeDocuments.step('a', document, { next: 'announce' }),
  (o) => o.largeDocuments.step('a', document, { next: 'finish', documentId: 'd' }),
];
const KINDS = ['ok', 'refused', 'not_found', 'access_denied', 'rate_limited', 'unknown'];

/** JSON that looks like answers: the registry's own names, with anything in them. */
const names = fc.constantFrom(...Object.values(profile.fields), '__proto__', 'constructor');
const lookalike = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue({ maxDepth: 1 }),
    fc.dictionary(names, tie('value'), { maxKeys: 8 }),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
})).value;

describe('whatever the registry answers', () => {
  it('every operation ends in a typed outcome and none throws', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...RUNS),
        fc.oneof(
          lookalike.map((value) => JSON.stringify(value)),
          fc.string(),
        ),
        fc.constantFrom(200, 201, 302, 400, 403, 404, 429, 500),
        async (run, body, status) => {
          const outcome = await run(new RegistryOperations(new ScriptedCaller(profile, [answer(body, status)])));
          expect(KINDS).toContain(outcome.kind);
        },
      ),
      { seed: SEED, numRuns: sized({ test: 600, soak: 3_000 }) },
    );
  });
});
