import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { pageFile } from './page-file.js';

const PARTS = { script: 'start();', style: 'p {}' };
const KEYS = { key: 'log+00000000+A', witnesses: [] };

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('the file of a page', () => {
  it('lets nothing in a proof or a key end its element, and keeps every value', () => {
    const text = '</script><script>alert(1)</script><!--<script>';
    const html = pageFile(`{"a":${JSON.stringify(text)}}\n`, { key: text, witnesses: [text] }, PARTS);
    expect(html.match(/<script/g)).toHaveLength(3);
    expect(html.match(/<\/script/g)).toHaveLength(3);
    expect(html).not.toContain('<!--');
    const dataOf = (id: string): unknown =>
      JSON.parse(new RegExp(`id="${id}">\\s*(.*?)\\s*</script>`, 's').exec(html)?.[1] ?? '');
    expect(dataOf('proof')).toEqual({ a: text });
    expect(dataOf('trusted')).toEqual({ key: text, witnesses: [text] });
  });

  it('allows its own script and style and nothing else, and names no address', () => {
    const html = pageFile('{}', KEYS, PARTS);
    expect(html).toContain(
      `content="default-src 'none'; script-src ${hashOf(PARTS.script)}; style-src ${hashOf(PARTS.style)}; ` +
        `base-uri 'none'; form-action 'none'"`,
    );
    expect(html).not.toMatch(/https?:|src=|href=/);
  });

  it('is not made of a script that would end too early, or be another one when it is read', () => {
    for (const script of ['"</script>"', '"<!--"', 'a\r\nb'])
      expect(() => pageFile('{}', KEYS, { ...PARTS, script })).toThrow('this text cannot be written into a page');
    expect(() => pageFile('{}', KEYS, { ...PARTS, style: '</style>' })).toThrow('cannot be written into a page');
  });
});
