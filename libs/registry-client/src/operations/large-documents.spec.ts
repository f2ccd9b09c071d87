import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { answer, ScriptedCaller, type Asked } from '../../test/scripted-caller.js';
import { loadProfile } from '../profile.js';
import { LargeDocuments, type LargeSend } from './large-documents.js';

const XML = Buffer.from(`<documents>${'x'.repeat(25)}</documents>`);
const document = { xml: XML, signature: Buffer.from('sig'), requestId: 'r', bulkProcessing: true };
const profile = loadProfile('mdlp', { rules: { uploadPartBytes: 20 } });
const ANNOUNCED = answer({ document_id: 'd', link: '/webdav/d' });
const PART = answer('<html>Created</html>', 201, 'text/html');
const FINISHED = answer({ request_id: 'r' });
const LOST = { kind: 'failed', written: true, reason: 'ECONNRESET' } as const;
const upload = (uploadedBytes: number): LargeSend => ({
  next: 'upload',
  documentId: 'd',
  link: '/webdav/d',
  uploadedBytes,
});

describe('a large document', () => {
  it('is announced with its digest, uploaded in parts, and finished', async () => {
    const caller = new ScriptedCaller(profile, [ANNOUNCED, PART, PART, PART, FINISHED]);
    const kept: LargeSend[] = [];
    const result = await new LargeDocuments(caller).run('a', document, {
      keep: (at) => Promise.resolve(void kept.push(at)),
    });
    expect(result).toEqual({ at: { next: 'nothing', documentId: 'd' } });
    const [announced, ...parts] = caller.asked;
    expect(announced).toMatchObject({ method: 'POST', path: '/api/v1/documents/send_large' });
    expect(announced?.body).toEqual({
      sign: 'c2ln',
      hash_sum: createHash('sha256').update(XML).digest('hex'),
      request_id: 'r',
      bulk_processing: true,
    });
    expect(parts.slice(0, 3).map((part) => [part.method, part.path, part.headers?.['content-range']])).toEqual([
      ['PUT', '/webdav/d', 'bytes 0-19/48'],
      ['PUT', '/webdav/d', 'bytes 20-39/48'],
      ['PUT', '/webdav/d', 'bytes 40-47/48'],
    ]);
    expect(Buffer.concat(parts.slice(0, 3).map((part) => part.body as Buffer)).equals(XML)).toBe(true);
    expect(parts[3]).toMatchObject({ path: '/api/v1/documents/send_finished', body: { document_id: 'd' } });
    expect(kept).toEqual([
      upload(0),
      upload(20),
      upload(40),
      { next: 'finish', documentId: 'd' },
      { next: 'nothing', documentId: 'd' },
    ]);
  });

  it('goes in one request without a range where one part holds it', async () => {
    const caller = new ScriptedCaller(loadProfile('mdlp'), [ANNOUNCED, PART, FINISHED]);
    expect(await new LargeDocuments(caller).run('a', document)).toMatchObject({ at: { next: 'nothing' } });
    expect(caller.asked[1]?.headers).toEqual({ 'content-type': 'application/xml' });
  });

  it('goes on where it stopped, and repeats only the part that was lost', async () => {
    const first = new ScriptedCaller(profile, [ANNOUNCED, PART, LOST]);
    const stopped = await new LargeDocuments(first).run('a', document);
    expect(stopped).toEqual({ at: upload(20), stopped: { kind: 'unknown', reason: 'ECONNRESET' } });
    const second = new ScriptedCaller(profile, [PART, PART, FINISHED]);
    expect(await new LargeDocuments(second).run('a', document, { from: stopped.at })).toMatchObject({
      at: { next: 'nothing' },
    });
    const ranges = second.asked.map((asked: Asked) => asked.headers?.['content-range']);
    expect(ranges).toEqual(['bytes 20-39/48', 'bytes 40-47/48', undefined]);
  });

  it.each([
    ['an announcement without an answer', { next: 'announce' }, LOST, { kind: 'unknown' }],
    [
      'an announcement without a link',
      { next: 'announce' },
      answer({ document_id: 'd' }),
      { kind: 'unknown', reason: expect.stringContaining('"link"') },
    ],
    [
      'an announcement that is refused',
      { next: 'announce' },
      answer({ error_description: 'twice' }, 400),
      { kind: 'refused', text: 'twice' },
    ],
    ['a part whose link is gone', upload(20), answer({ error_description: 'gone' }, 404), { kind: 'not_found' }],
    [
      'a part for which a server before the registry has no route',
      upload(20),
      answer('<html><title>404 Not Found</title></html>', 404, 'text/html'),
      { kind: 'refused', mayBeOthers: true },
    ],
    [
      'a part that leads to another host',
      { ...upload(0), link: 'http://elsewhere.example/x' },
      PART,
      { kind: 'not_sent', reason: 'a foreign link' },
    ],
    ['a finish without an answer', { next: 'finish', documentId: 'd' }, LOST, { kind: 'unknown' }],
    [
      'a finish that is about another document',
      { next: 'finish', documentId: 'd' },
      answer({ request_id: 'other' }),
      { kind: 'unknown', reason: expect.stringContaining('"other"') },
    ],
    [
      'a finish with the wrong digest',
      { next: 'finish', documentId: 'd' },
      answer({ error_description: 'hash_sum' }, 400),
      { kind: 'refused', text: 'hash_sum' },
    ],
  ] as [string, LargeSend, never, object][])(
    'stops at %s, and stays where it was',
    async (_name, at, came, outcome) => {
      const result = await new LargeDocuments(new ScriptedCaller(profile, [came])).run('a', document, { from: at });
      expect(result).toMatchObject({ at, stopped: outcome });
    },
  );

  it('has no step after the last, and no part outside the document', async () => {
    const large = new LargeDocuments(new ScriptedCaller(profile, [PART]));
    await expect(large.step('a', document, { next: 'nothing', documentId: 'd' })).rejects.toMatchObject({
      code: 'invalid_parameter',
    });
    await expect(large.step('a', document, upload(48))).rejects.toMatchObject({
      code: 'invalid_parameter',
      place: { field: 'uploadedBytes' },
    });
  });
});
