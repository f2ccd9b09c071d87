import { describe, expect, it } from '@jest/globals';
import { XmlDocument } from 'libxml2-wasm';
import { variedXml } from './varied-xml.js';

const PLAIN = Buffer.from(
  '<documents version="1.38"><result action_id="200"><a>да &lt;&gt;</a><b/></result></documents>',
);
const SIGNS = ['xmlns:ns2=', 'xmlns:xsi=', '<!--', '<?xml', '\r\n', '\uFEFF'];

describe('a document as others write it', () => {
  const written = Array.from({ length: 400 }, (_, n) => variedXml(PLAIN, `document-${n}`));

  it('is the same each time', () => {
    expect(written).toEqual(Array.from({ length: 400 }, (_, n) => variedXml(PLAIN, `document-${n}`)));
  });

  it('is plain about every other time, and shows each of its ways alone and with others', () => {
    const ways = written.map((xml) => SIGNS.filter((sign) => xml.toString().includes(sign)));
    const plain = ways.filter((one) => one.length === 0).length;
    expect(plain).toBeGreaterThan(150);
    expect(plain).toBeLessThan(260);
    for (const sign of SIGNS) expect(ways.filter((one) => one.includes(sign)).length).toBeGreaterThan(50);
    expect(ways.some((one) => one.length === 1)).toBe(true);
    expect(ways.some((one) => one.length > 4)).toBe(true);
  });

  it('says the same', () => {
    for (const xml of written) {
      const parsed = XmlDocument.fromBuffer(xml);
      expect(parsed.get('/documents/@version')?.content).toBe('1.38');
      expect(parsed.get('/documents/result/a')?.content).toBe('да <>');
      parsed.dispose();
    }
  });

  it('stays as it is where it does not begin with its root', () => {
    const xml = Buffer.from(`<?xml version="1.0"?>${PLAIN.toString()}`);
    for (let n = 0; n < 20; n += 1) expect(variedXml(xml, `document-${n}`)).toBe(xml);
  });
});
