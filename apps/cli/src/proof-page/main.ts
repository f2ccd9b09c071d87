import { wordsOf } from '#kernel';
import { checkProof, type TrustedKeys } from './check.js';
import { make, page, section, type PageElement } from './elements.js';
import { keySection } from './keys.js';
import { checkSections, eventSection, otherLines, otherSections, verdictOf } from './show.js';

export { checkProof } from './check.js';
export { otherLines, otherSections, verdictOf } from './show.js';

/** Lets the browser draw and answer. */
const drawn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

const element = (id: string): PageElement => page?.getElementById(id) as PageElement;

/** The sentence at the top, which a screen reader reads out when it changes. */
function say(kind: 'good' | 'bad' | 'busy', words: string, why = ''): void {
  element('status').setAttribute('class', `verdict ${kind}`);
  element('status').setAttribute('data-verdict', kind);
  element('status').replaceChildren(make('strong', {}, words), make('span', {}, ` ${why}`));
}

/** Checks the proof of the page, and shows what it found. */
async function checkAndShow(text: string, trusted: TrustedKeys): Promise<void> {
  say('busy', 'Checking ...');
  element('page').replaceChildren();
  await drawn();
  const keys = keySection(trusted, (others) => void checkAndShow(text, others));
  try {
    const outcome = await checkProof(text, trusted, async (events) => {
      say('busy', `Checking ... ${events} events`);
      await drawn();
    });
    const lines = outcome.kind === 'holds' ? otherLines(text) : { evidence: [], further: [] };
    const { kind, words, why } = verdictOf(outcome, lines);
    const others = kind === 'good' ? otherSections(lines) : [];
    element('page').replaceChildren(
      ...checkSections(outcome, lines),
      keys,
      ...others,
      eventSection(outcome),
      saving(text),
    );
    say(kind, words, why);
  } catch (error) {
    element('page').replaceChildren(keys);
    say('bad', '✘ This browser cannot check the proof.', wordsOf(error));
  }
}

function saving(text: string): PageElement {
  const button = make('button', { type: 'button' }, 'Save the proof');
  button.addEventListener('click', () => {
    const link = make('a', { download: 'proof.ndjson' });
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
    link.click();
  });
  return section(
    'The proof itself',
    make('p', {}, 'The saved file is checked by: ', make('code', {}, 'pedigree audit verify proof.ndjson --key KEY')),
    button,
  );
}

if (page !== undefined) {
  const trusted = JSON.parse(element('trusted').textContent ?? '{}') as TrustedKeys;
  void checkAndShow((element('proof').textContent ?? '').trim(), trusted);
}
