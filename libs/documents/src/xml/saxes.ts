import { SaxesParser } from 'saxes';
import { refuseXmlDeclaration, xmlError } from './text.js';
import type { XmlPlace, XmlTokens } from './tokens.js';

type Parser = SaxesParser<{ position: false; xmlns: false }>;

const BEGINNING: XmlPlace = { at: 0, line: 1, open: [], isBehindRoot: false };

/**
 * Reads a text of `textOf` from a place to its end. Throws PedigreeError `malformed_xml`, and `forbidden_xml` for an
 * entity or for an XML declaration of something else than UTF-8 and XML 1.0.
 */
export function readBySaxes(text: string, heard: XmlTokens, from: XmlPlace = BEGINNING): void {
  const parser: Parser = new SaxesParser({ position: false, xmlns: false });
  // Nobody listens yet: so the parser comes to know what is open at that place, or that a root was there.
  parser.write(from.isBehindRoot ? '<root/>' : from.open.map((name) => `<${name}>`).join(''));
  parser.line = from.line;
  // With more than seven handlers the parser's object loses its fast form, and reading takes seven times as long: so
  // what is forbidden is searched for beforehand, and attributes and the XML declaration are looked at when an element
  // opens.
  parser.on('opentag', ({ name, attributes }) => {
    refuseXmlDeclaration(parser.xmlDecl);
    heard.open(name, attributes, parser.line);
  });
  parser.on('closetag', ({ name }) => heard.close(name, parser.line));
  parser.on('text', (part) => heard.text(part, parser.line));
  parser.on('cdata', (part) => heard.broken(part, parser.line));
  parser.on('comment', () => heard.broken('', parser.line));
  parser.on('error', ({ message }) => {
    const { line } = parser;
    if (message.startsWith('undefined entity'))
      throw xmlError('forbidden_xml', 'an entity is used that XML does not define by itself', { line });
    throw xmlError('malformed_xml', message.replace(/\.$/, ''), { line });
  });
  parser.write(from.at === 0 ? text : text.slice(from.at));
  parser.close();
}
