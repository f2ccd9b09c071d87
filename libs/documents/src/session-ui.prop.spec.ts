import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkDocument } from './check-document.js';
import { withSessionUi } from './session-ui.js';
import { walkXml } from './walk-xml.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const NEW = '7b0f3f7e-1d5c-5c55-9d2a-0a5f6f6a1b22';
const BODY =
  '<accept action_id="701"><subject_id>00000000100101</subject_id><counterparty_id>00000000200101</counterparty_id>' +
  '<operation_date>2026-01-15T09:00:00+03:00</operation_date><!-- session_ui="x" -->' +
  '<order_details><sgtin>04600000000015ABCDE00100001</sgtin></order_details></accept>';

/** Attributes of the root as they were read, without one. */
function attributesOf(bytes: Uint8Array): Record<string, string> {
  let root: Record<string, string> = {};
  walkXml(bytes, {
    open: (_, attributes, { depth }) => {
      if (depth === 0) root = attributes;
    },
    leaf: () => undefined,
    close: () => undefined,
  });
  return root;
}

const blank = fc.constantFrom(' ', '\n', '\r\n', '\t', '  ');
const maybeBlank = fc.constantFrom('', ' ', '\n');
const comment = fc.constantFrom(
  '<!-- <documents session_ui="no"> -->',
  '<!-- it\'s > and " -->',
  '<!---->',
  '<!-- до корня -->',
  '\n',
);
const attribute = (name: string, value: fc.Arbitrary<string>) =>
  fc
    .tuple(blank, maybeBlank, maybeBlank, fc.constantFrom('"', "'"), value)
    .map(([before, left, right, quote, text]) => `${before}${name}${left}=${right}${quote}${text}${quote}`);
const value = fc.constantFrom('1', 'a > b', 'a = b', 'session_ui=&quot;x&quot;', '/>', 'à=Ñ>', 'имя');
const optional = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: '' });
const document = fc
  .record({
    mark: fc.constantFrom('', '\ufeff'),
    declaration: fc.constantFrom('', '<?xml version="1.0" encoding="UTF-8"?>', "<?xml version='1.0'?>\r\n"),
    comments: fc.array(comment, { maxLength: 3 }),
    attributes: fc
      .tuple(
        attribute('version', fc.constant('1.38')),
        optional(attribute('session_ui', value)),
        optional(attribute('original_id', value)),
        optional(attribute('xmlns:session_ui', fc.constant('urn:x'))),
        optional(attribute('xmlns:я', fc.constant('urn:x'))),
      )
      .chain((all) => fc.shuffledSubarray(all, { minLength: all.length })),
    end: maybeBlank,
    behind: fc.constantFrom('', '\r\n', '<!-- session_ui="z" -->'),
  })
  .map(
    ({ mark, declaration, comments, attributes, end, behind }) =>
      `${mark}${declaration}${comments.join('')}<documents${attributes.join('')}${end}>${BODY}</documents>${behind}`,
  )
  .map((text) => Buffer.from(text, 'utf8'));

describe(`a session_ui (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('is written into any document that is taken, and nothing else changes', () => {
    fc.assert(
      fc.property(document, (bytes) => {
        const before = checkDocument(bytes);
        const after = withSessionUi(bytes, NEW);
        expect(checkDocument(after)).toEqual(before);
        const { session_ui: old, ...others } = attributesOf(bytes);
        expect(attributesOf(after)).toEqual({ ...others, session_ui: NEW });
        const [head = '', tail = ''] = after.toString('latin1').split(NEW);
        const [whole, isNew] = [bytes.toString('latin1'), old === undefined];
        const [first, last] = isNew ? [head.slice(0, -' session_ui="'.length), tail.slice(1)] : [head, tail];
        expect(whole.startsWith(first) && whole.endsWith(last)).toBe(true);
        const replaced = whole.slice(first.length, whole.length - last.length);
        expect(isNew ? replaced === '' : !replaced.includes(head.slice(-1))).toBe(true);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('is always other bytes, and the same ones for the same id', () => {
    fc.assert(
      fc.property(document, (bytes) => {
        const once = withSessionUi(bytes, NEW);
        expect(once.equals(bytes)).toBe(false);
        expect(withSessionUi(bytes, NEW).equals(once)).toBe(true);
        expect(withSessionUi(once, NEW.replace('7', '8')).length).toBe(once.length);
      }),
      { seed: SEED },
    );
  });

  it.each([
    ['none', '<documents version="1.38">', `<documents session_ui="${NEW}" version="1.38">`],
    ['none, over lines', "<documents\r\n\tversion='1.38'\n>", `<documents session_ui="${NEW}"\r\n\tversion='1.38'\n>`],
    ['one', '<documents session_ui = \'a"b\' version="1.38">', `<documents session_ui = '${NEW}' version="1.38">`],
    ['an empty one', '<documents version="1.38" session_ui="">', `<documents version="1.38" session_ui="${NEW}">`],
    [
      'one like it',
      '<documents xsession_ui="a" version="1">',
      `<documents session_ui="${NEW}" xsession_ui="a" version="1">`,
    ],
  ])('in place of %s', (_, root, expected) => {
    expect(withSessionUi(Buffer.from(`\ufeff<!-- > -->${root}</documents>`), NEW).toString()).toBe(
      `\ufeff<!-- > -->${expected}</documents>`,
    );
  });

  it('needs a root', () => {
    for (const text of ['', 'x', '<!-- ', '<documents version', '<documents version="1', '<documents version=>'])
      expect(() => withSessionUi(Buffer.from(text), NEW)).toThrow('without a root');
  });
});
