import { expect, it } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFacts } from '../../test/facts.js';
import { schemasOf } from '../../test/write-schemas.js';

const folder = new URL('../../schemas/1.38/', import.meta.url);

/** `WRITE_SCHEMAS=1 npm run jest -- libs/documents/src/schemas/built-in.spec.ts` writes the set anew. */
it('the built-in schema set is what the facts say', () => {
  const wanted = schemasOf(readFacts());
  if (process.env.WRITE_SCHEMAS === '1') {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of wanted) writeFileSync(new URL(name, folder), text);
  }
  const there = new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
  expect([...there.keys()].sort()).toEqual([...wanted.keys()].sort());
  for (const [name, text] of wanted) expect(there.get(name)).toBe(text);
});
