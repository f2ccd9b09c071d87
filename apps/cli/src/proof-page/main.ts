import { wordsOf } from '#kernel';
import { checkProof, type TrustedKeys } from './check.js';
import { make, page, section, type PageElement } from './elements.js';
import { keySection } from './keys.js';
import { otherSections, outcomeSections } from './show.js';

export { checkProof } from './check.js';

/** Lets the browser draw and answer. */
const drawn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

const element = (id: string): PageElement => page?.getElementById(id) as PageElement;

/** Checks the proof of the page, and shows what it found. */
async function checkAndShow(text: string, trusted: TrustedKeys): Promise<void> {
  const status = make('p', { role: 'status' }, 'Checking ...');
  element('page').replaceChildren(status);
  await drawn();
  const progress = async (events: number): Promise<void> => {
    status.textContent = `Checking ... ${events} events`;
    await drawn();
  };
  const keys = keySection(trusted, (others) => void checkAndShow(text, others));
  try {
    const outcome = await checkProof(text, trusted, progress);
    const others = outcome.kind === 'holds' && outcome.verified.witnessed.isMet ? otherSections(text) : [];
    const [result, events, ...rest] = outcomeSections(outcome) as [PageElement, PageElement, ...PageElement[]];
    element('page').replaceChildren(result, keys, ...others, events, ...rest, saving(text));
  } catch (error) {
    element('page').replaceChildren(section('Result', make('p', { class: 'verdict bad' }, `✘ ${wordsOf(error)}`)), keys);
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
    make('p', {}, 'Any program for it checks the saved file: `pedigree audit verify proof.ndjson --key KEY`.'),
    button,
  );
}

if (page !== undefined) {
  const trusted = JSON.parse(element('trusted').textContent ?? '{}') as TrustedKeys;
  void checkAndShow((element('proof').textContent ?? '').trim(), trusted);
}
