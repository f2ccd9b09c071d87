import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { sha256Hex } from '#kernel';
import { DocumentReader } from './document-reader.js';

const text = readFileSync(new URL('../fixtures/701-accept.xml', import.meta.url), 'utf8');
const numbered = (i: number): Buffer => Buffer.from(text.replace('00000000100930', String(i).padStart(14, '0')));
const read = (reader: DocumentReader, bytes: Buffer) => reader.read(sha256Hex(bytes), bytes);

it('given a document read before, the very same facts come back', () => {
  const reader = new DocumentReader();
  const bytes = numbered(1);
  expect(reader.peek(sha256Hex(bytes))).toBeUndefined();
  const facts = read(reader, bytes);
  expect(read(reader, Buffer.from(bytes))).toBe(facts);
  expect(reader.peek(sha256Hex(bytes))).toBe(facts);
});

it('given more documents than fit, the one unused for longest is forgotten', () => {
  const reader = new DocumentReader({ maxDocuments: 2 });
  const [a, b, c] = [numbered(1), numbered(2), numbered(3)];
  for (const bytes of [a, b, a, c]) read(reader, bytes);
  expect([a, b, c].map((bytes) => reader.peek(sha256Hex(bytes)) !== undefined)).toEqual([true, false, true]);
});

it('given more bytes than may be kept alive, the oldest are forgotten, also a single one that is too large', () => {
  const size = numbered(1).length;
  const reader = new DocumentReader({ maxBytes: 2 * size });
  for (let i = 1; i <= 3; i += 1) read(reader, numbered(i));
  expect([1, 2, 3].map((i) => reader.peek(sha256Hex(numbered(i))) !== undefined)).toEqual([false, true, true]);
  const tiny = new DocumentReader({ maxBytes: size - 1 });
  expect(read(tiny, numbered(1)).docType).toBe(701);
  expect(tiny.peek(sha256Hex(numbered(1)))).toBeUndefined();
});

it('given a bad document, the error comes every time', () => {
  const reader = new DocumentReader();
  const bad = Buffer.from('<documents');
  for (let i = 0; i < 2; i += 1)
    expect(() => read(reader, bad)).toThrow(expect.objectContaining({ code: 'malformed_xml' }));
});
