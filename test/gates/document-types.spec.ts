import { expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { CATALOGUE } from '#documents';

/**
 * The rows of docs/conformance.md about the document types, one for each of the catalogue. To write them anew:
 * `WRITE_TYPES=1 npm run jest -- test/gates/document-types.spec.ts`.
 */
const page = new URL('../../docs/conformance.md', import.meta.url);
const HEADING = '## Document types';

type Row = (typeof CATALOGUE)[number];

const FACTS = 'libs/documents/src/catalogue/catalogue.prop.spec.ts › documents made from the facts';
const EFFECTS = 'libs/documents/src/catalogue/effects.spec.ts › what a document does to its packs';
const SENT = 'test/scenarios/every-type.int.spec.ts › a document of every type that a participant sends';
const JUDGED = 'apps/sandbox/src/checks/rules.int.spec.ts › every document type that is sent';
const QUERIES = 'apps/sandbox/src/checks/queries.int.spec.ts › queries are answered in place of a receipt';

/** Types that name no pack, or are about an earlier document, have tests of their own in the sandbox. */
const JUDGED_BY: Readonly<Record<number, string>> = {
  210: `${QUERIES} 210 about a pack: 211 with its status, unit, series and expiry`,
  212: `${JUDGED} 213 keeps SSCC numbers for their holder, 212 notes whom a participant trusts`,
  213: `${JUDGED} 213 keeps SSCC numbers for their holder, 212 notes whom a participant trusts`,
  220: `${QUERIES} 220: 221 with what lies in the unit and what holds it`,
  250: `${JUDGED} 250 cancels a 313: its packs are what they were, unless another document changed them since`,
  254: `${JUDGED} 254 corrects the number of an earlier shipment for its packs, and the other side is told`,
  432: `${JUDGED} 432 and 812 move everything of a place, and are told by 634 and 631`,
  812: `${JUDGED} 432 and 812 move everything of a place, and are told by 634 and 631`,
  10501: `${JUDGED} 10501 and 10502 correct a till sale by its receipt, and withdraw nothing`,
  10502: `${JUDGED} 10501 and 10502 correct a till sale by its receipt, and withdraw nothing`,
};

const isSent = ({ direction }: Row): boolean => direction === 'outgoing' || direction === 'query';

function testsOf(row: Row): string[] {
  const { docType, direction } = row;
  const judged =
    JUDGED_BY[docType] ??
    `${JUDGED} ${docType}: its pack becomes what the rule says, and in a wrong state it is refused`;
  return [
    `${FACTS} ${docType} are accepted and read, and refused with any fault`,
    ...(isSent(row)
      ? [
          `${FACTS} ${docType} are built from JSON, valid and with the same items`,
          `${SENT} ${docType} is taken from the ERP, sent, and concluded by what the registry answers`,
          judged,
        ]
      : []),
    ...(direction === 'answer' ? [] : [`${EFFECTS} ${docType}`]),
  ];
}

function applied({ direction, effect, maxItems, wholePlace }: Row): string {
  if (direction === 'answer') return '–';
  if (wholePlace !== undefined) return 'to all that the place holds';
  if (maxItems === 0) return 'names no pack';
  if (effect === 'not known') return 'not known: its packs are uncertain';
  return Object.keys(effect).length === 0 ? 'changes no pack' : 'yes';
}

function lineOf(row: Row): string {
  const { docType, title } = row;
  const own = isSent(row) ? 'yes' : 'the registry writes it';
  const tests = testsOf(row)
    .map((name) => `\`${name}\``)
    .join(', ');
  return `| ${[docType, title, 'yes', own, own, isSent(row) ? 'yes' : '–', applied(row), tests].join(' | ')} |`;
}

const section = [
  HEADING,
  '',
  'All types of the schema set: checked against it, built from JSON, sent, judged by the sandbox, applied to packs.',
  'Where no source tells what a type does, nothing is guessed: its packs are uncertain.',
  '',
  '| No | Type | Checked | Built | Sent | Judged by the sandbox | Applied to packs | Shown by |',
  '|---|---|---|---|---|---|---|---|',
  ...CATALOGUE.toSorted((a, b) => a.docType - b.docType).map(lineOf),
  '',
].join('\n');

it('the conformance table has a row for every document type, with the tests that show it', () => {
  const text = readFileSync(page, 'utf8');
  const [before = ''] = text.split(HEADING);
  if (process.env.WRITE_TYPES === '1') writeFileSync(page, `${before.trimEnd()}\n\n${section}`);
  expect(readFileSync(page, 'utf8').split(HEADING)[1]).toBe(section.slice(HEADING.length));
});
