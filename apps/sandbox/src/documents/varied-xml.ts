import { createHash } from 'node:crypto';

const ROOT = '<documents ';
const ON_ROOT = [
  'xmlns:ns2="urn:registry:wsdl" ',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="documents.xsd" ',
];
const COMMENT = '<!-- written by the registry -->';
const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
/** Not what only looks so in a text, which may hold a `>` at its end. */
const TAG_BEFORE_ANOTHER = /<(?:[^<>!][^<>]*|!--[^<>]*--)>(?=<)/g;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * The same document as real writers put it (public-facts 2.3): half of them plain, the others with declarations that
 * nothing uses, a comment, an XML declaration, Windows line ends or a byte order mark. Which, follows from the id, so
 * that every reading and every restart gives the same bytes. XML that does not begin with its root stays as it is.
 */
export function variedXml(xml: Buffer, id: string): Buffer {
  const [isPlain = 0, choice = 0] = createHash('sha256').update(id).digest();
  if (isPlain < 128 || xml.toString('latin1', 0, ROOT.length) !== ROOT) return xml;
  const has = (bit: number): boolean => (choice & (1 << bit)) !== 0;
  const declared = ON_ROOT.filter((_, bit) => has(bit)).join('');
  const root = `${has(2) ? COMMENT : ''}${ROOT}${declared}${xml.toString('utf8', ROOT.length)}`;
  const lines = `${has(3) ? XML_DECLARATION : ''}${root}`;
  return Buffer.from(`${has(5) ? BYTE_ORDER_MARK : ''}${has(4) ? lines.replace(TAG_BEFORE_ANOTHER, '$&\r\n') : lines}`);
}
