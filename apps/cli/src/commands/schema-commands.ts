import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, type Action, type JsonFlag } from './action.js';
import type { AddFlags } from './schemas.js';
import type { ValidateFlags } from './validate.js';

export function addValidate(pedigree: Command, action: Action, config: () => CliConfig): void {
  pedigree
    .command('validate')
    .description('say all that is wrong with documents, without sending them; - is standard input')
    .argument('<file...>', 'XML')
    .option('--schemas <dir>', 'a folder of XSD files, or of schema sets, instead of SCHEMA_DIR')
    .option(...JSON_OPTION)
    .action(
      action(async (files: string[], flags: ValidateFlags) =>
        (await import('./validate.js')).validateFiles(config(), files, flags),
      ),
    );
}

/** `pedigree types`: what is known of document types. */
export function addTypes(pedigree: Command, action: Action): void {
  pedigree
    .command('types')
    .description('show the document types that are known, or one of them with its fields')
    .argument('[type]', 'its number, for example 415')
    .option(...JSON_OPTION)
    .action(
      action(async (type: string | undefined, { json }: JsonFlag) => {
        const { listTypes, showType } = await import('./types.js');
        return type === undefined ? listTypes(json === true) : showType(type, json === true);
      }),
    );
}

/** `pedigree schemas`: the sets by which documents are checked and built. */
export function addSchemaCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const schemas = pedigree.command('schemas').description('schema sets (SCHEMA_DIR): list, add, compare, remove');
  schemas
    .command('list', { isDefault: true })
    .description('show the sets in their order, and what each lacks; status 1 when one is damaged')
    .option(...JSON_OPTION)
    .action(
      action(async ({ json }: JsonFlag) =>
        (await import('./schemas.js')).listSchemas(config().schemaDir, json === true),
      ),
    );
  schemas
    .command('add')
    .description('check a folder of XSD files, and take a copy as a set; a gateway reads it at its next start')
    .argument('<dir>')
    .requiredOption('--name <name>', 'what the set is called')
    .requiredOption('--versions <versions>', 'of the documents that it serves, with commas between: 1.37,1.38')
    .option('--from <day>', 'its first day, YYYY-MM-DD')
    .option('--until <day>', 'its last day, YYYY-MM-DD')
    .action(
      action(async (dir: string, flags: AddFlags) =>
        (await import('./schemas.js')).addSchemas(config().schemaDir, dir, flags),
      ),
    );
  addComparison(schemas, action, config);
  schemas
    .command('remove')
    .description('take a set away that was added; a gateway that runs keeps it until its next start')
    .argument('<name>')
    .action(action(async (name: string) => (await import('./schemas.js')).removeSchemas(config().schemaDir, name)));
}

function addComparison(schemas: Command, action: Action, config: () => CliConfig): void {
  schemas
    .command('compare')
    .description('show in what two sets differ, each by its name or its folder; status 2 when they do')
    .argument('<first>')
    .argument('<second>')
    .option(...JSON_OPTION)
    .action(
      action(async (first: string, second: string, { json }: JsonFlag) =>
        (await import('./schemas.js')).compareSchemas(config().schemaDir, [first, second], json === true),
      ),
    );
}
