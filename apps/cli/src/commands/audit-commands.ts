import type { Command } from 'commander';
import { DEFAULT_ORIGIN } from '../../../auditor/src/config.js';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, type Action, type JsonFlag } from './action.js';

const ORIGIN_OPTION = ['--origin <name>', 'name of the log', DEFAULT_ORIGIN] as const;
interface OriginFlag {
  origin: string;
}

/** For auditors: what proves the log without our server. What does the work is loaded when it is asked for. */
export function addAuditCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const audit = pedigree.command('audit').description('the Merkle log: keys, and proofs that hold without our server');
  audit
    .command('new-key')
    .description('make the key that signs checkpoints, and print the verifier key that auditors are given')
    .argument('<file>')
    .option(...ORIGIN_OPTION)
    .action(
      action(async (file: string, { origin }: OriginFlag) => (await import('./audit.js')).newAuditKey(file, origin)),
    );
  audit
    .command('show-key')
    .description('print the verifier key of a key that is there')
    .argument('<file>')
    .option(...ORIGIN_OPTION)
    .action(
      action(async (file: string, { origin }: OriginFlag) => (await import('./audit.js')).showAuditKey(file, origin)),
    );
  audit
    .command('prove')
    .description('prove every event of a document: prints a file that verifies offline')
    .argument('<document>', "its request_id, the ERP's command id or the ERP's reference")
    .action(action(async (named: string) => (await import('./audit.js')).proveDocument(config(), named)));
  audit
    .command('verify')
    .description('check a proof with nothing but the file and the verifier key; - is standard input')
    .argument('<file>')
    .requiredOption('--key <verifier_key>', 'as `audit new-key` printed it')
    .option(...JSON_OPTION)
    .action(
      action(async (file: string, { key, json }: JsonFlag & { key: string }) =>
        (await import('./audit.js')).verifyProof(file, key, json === true),
      ),
    );
}
