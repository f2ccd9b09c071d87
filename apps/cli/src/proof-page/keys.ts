import type { TrustedKeys } from './check.js';
import { make, section, table, type Cell, type PageElement } from './elements.js';
import { sha256 } from './sha256.js';

const KEY_BYTES = 32;

/** The keys that were believed, and a form to check with others. */
export function keySection(trusted: TrustedKeys, checkWith: (keys: TrustedKeys) => void): PageElement {
  const logKeys = trusted.key.split(/\s+/).filter((one) => one !== '');
  const rows = [
    ...logKeys.map((key) => keyCells('log', key)),
    ...trusted.witnesses.map((key) => keyCells('witness', key)),
  ];
  const [key, witnesses, needed] = [
    make('input', { id: 'key', spellcheck: 'false', autocomplete: 'off' }),
    make('textarea', { id: 'witnesses', rows: '3', spellcheck: 'false' }),
    make('input', { id: 'needed', inputmode: 'numeric', size: '4' }),
  ];
  key.value = trusted.key;
  witnesses.value = trusted.witnesses.join('\n');
  needed.value = trusted.needed === undefined ? '' : String(trusted.needed);
  const form = make(
    'form',
    {},
    ...labelled('key', 'Verifier key of the log; where it was changed several, with blanks between', key),
    ...labelled('witnesses', 'Verifier keys of witnesses, one in a line', witnesses),
    ...labelled('needed', 'How many of the witnesses are needed (empty: all)', needed),
    make('button', { type: 'submit' }, 'Check again'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const count = needed.value.trim();
    checkWith({
      key: key.value.trim(),
      witnesses: witnesses.value.split(/\s+/).filter((one) => one !== ''),
      needed: count === '' ? undefined : Number(count),
    });
  });
  return section(
    'Keys that were trusted',
    make('p', {}, 'Compare them with the keys that you were given by other means.'),
    table('Keys', ['Of', 'Verifier key', 'SHA-256 of the public key'], rows),
    form,
  );
}

const labelled = (id: string, words: string, field: PageElement): PageElement[] => [
  make('label', { for: id }, words),
  field,
];

function keyCells(of: string, text: string): Cell[] {
  return [of, make('code', {}, text), make('code', {}, fingerprint(text))];
}

/** Of the 32 bytes of the public key, as `openssl` would name them; what is no key has none. */
function fingerprint(verifierKey: string): string {
  const bytes = Buffer.from(verifierKey.trim().split('+').slice(2).join('+'), 'base64');
  if (bytes.length !== KEY_BYTES + 1) return 'this is not a verifier key';
  return Buffer.from(sha256(bytes.subarray(1))).toString('hex');
}
