import type { Command } from 'commander';
import { SUSPENSION_ACTIONS } from '#domain';
import type { GatewayClient } from '../gateway-client.js';
import { CURSOR_OPTION, JSON_OPTION, REASON_OPTION, type Action, type JsonFlag, type ReasonFlag } from './action.js';
import { withFiles, type FileOptions } from './list-file.js';
import {
  actOnSuspension,
  askSuspension,
  changeSuspension,
  confirmSuspendedList,
  enterSuspension,
  listSuspendedLists,
  listSuspensions,
  matchesIn,
  placesIn,
  showSuspension,
  suspensionLetter,
  type LetterOptions,
  type SuspensionListOptions,
} from './suspensions.js';

interface Parts {
  action: Action;
  gateway: () => GatewayClient;
}

/** `pedigree suspensions`: series that must not be sold or sent on, and what is done about them. */
export function addSuspensionCommands(pedigree: Command, parts: Parts): void {
  const suspensions = pedigree
    .command('suspensions')
    .description('series that must not be sold or sent on, by the registry’s list and by letters');
  addReading(suspensions, parts);
  addDocument(suspensions, parts);
  addLetters(suspensions, parts);
  addActions(suspensions, parts);
}

function addReading(suspensions: Command, { action, gateway }: Parts): void {
  withFiles(suspensions.command('list', { isDefault: true }))
    .description('those that are in force, the newest first')
    .option('--all', 'those that were released too')
    .option('--state <state>', 'only unmatched, open, replied or closed ones')
    .option('--source <source>', 'only by the list, by letters, or by decisions: list, letter, decision')
    .option('--gtin <gtin>', 'only of this product')
    .option('--series <series>', 'only of this series, letter by letter')
    .option('--limit <n>', 'suspensions of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((options: SuspensionListOptions) => listSuspensions(gateway(), options)));
  suspensions
    .command('show')
    .description('one of them with its history, and our packs that it concerns, by branch')
    .argument('<suspension>')
    .option('--recent <days>', 'packs that were shipped within so many days are recent', '90')
    .option(...JSON_OPTION)
    .action(action((id: string, options: JsonFlag & { recent: string }) => showSuspension(gateway(), id, options)));
  suspensions
    .command('was')
    .description('was a series suspended in the newest list that we held then, and how old was that list?')
    .argument('<gtin>')
    .argument('<series>', 'letter by letter')
    .option('--at <moment>', 'then: RFC 3339, with an offset or Z; default: now')
    .option('--document <request_id>', 'then: the attempt that brought this document to the registry, or may have')
    .option(...JSON_OPTION)
    .action(
      action((gtin: string, series: string, options: JsonFlag & { at?: string; document?: string }) =>
        askSuspension(gateway(), { gtin, series, ...options }),
      ),
    );
  suspensions
    .command('lists')
    .description('versions of the registry’s list that we held, the newest first')
    .option('--limit <n>', 'how many, up to 1000', '20')
    .option(...JSON_OPTION)
    .action(action((options: JsonFlag & { limit: string }) => listSuspendedLists(gateway(), options)));
}

function addDocument(suspensions: Command, { action, gateway }: Parts): void {
  withFiles(suspensions.command('letter'))
    .description('the newest reply as a document: a page to print, or its rows')
    .argument('<suspension>')
    .option('--html <file>', 'write it as a page to print and to file')
    .action(action((id: string, options: FileOptions & { html?: string }) => suspensionLetter(gateway(), id, options)));
}

const letterOptions = (command: Command): Command =>
  command
    .requiredOption('--number <number>', 'of the letter')
    .requiredOption('--date <date>', 'of the letter: YYYY-MM-DD')
    .requiredOption('--from <writer>', 'who wrote it')
    .requiredOption('--file <file>', 'the letter itself: PDF, JPEG, PNG or text; it becomes evidence')
    .requiredOption(...REASON_OPTION);

function addLetters(suspensions: Command, { action, gateway }: Parts): void {
  letterOptions(suspensions.command('enter'))
    .description('enter a letter')
    .requiredOption('--says <action>', SUSPENSION_ACTIONS.join(', '))
    .requiredOption('--product <text>', 'as the letter writes it')
    .requiredOption('--series <text>', 'as the letter writes it')
    .action(
      action(({ says, ...letter }: LetterOptions & { says: string; product: string; series: string }) =>
        enterSuspension(gateway(), { ...letter, action: says }),
      ),
    );
  letterOptions(suspensions.command('change'))
    .description('a later letter about the same')
    .argument('<suspension>')
    .requiredOption('--says <action>', SUSPENSION_ACTIONS.join(', '))
    .action(
      action((id: string, { says, ...letter }: LetterOptions & { says: string }) =>
        changeSuspension(gateway(), id, { ...letter, to: says }),
      ),
    );
}

function addActions(suspensions: Command, { action, gateway }: Parts): void {
  const acting = (name: string, does: string): Command =>
    suspensions
      .command(name)
      .description(does)
      .argument('<suspension>')
      .requiredOption(...REASON_OPTION);
  acting('match', 'say which packs a letter means')
    .option('--is <gtin=series...>', 'a series of a product; without any: none that we know of', [])
    .action(
      action((id: string, { is, reason }: ReasonFlag & { is: string[] }) =>
        actOnSuspension(gateway(), id, { action: 'match', matches: matchesIn(is), reason }),
      ),
    );
  acting('reply', 'say what was found and done, by place, also where there was nothing')
    .requiredOption('--at <place=found,quarantined,shipped,returned...>', 'packs at a place')
    .action(
      action((id: string, { at, reason }: ReasonFlag & { at: string[] }) =>
        actOnSuspension(gateway(), id, { action: 'reply', places: placesIn(at), reason }),
      ),
    );
  acting('close', 'say that nothing is left to be done').action(
    action((id: string, { reason }: ReasonFlag) => actOnSuspension(gateway(), id, { action: 'close', reason })),
  );
  suspensions
    .command('confirm')
    .description('say that the newest list of the registry is right, though it is doubted')
    .argument('<sha256>', 'its digest')
    .requiredOption(...REASON_OPTION)
    .action(action((sha256: string, { reason }: ReasonFlag) => confirmSuspendedList(gateway(), sha256, reason)));
}
