import type { Command } from 'commander';
import { invalidParameter } from '#kernel';
import { DEFAULT_ORIGIN } from '../../../auditor/src/config.js';
import type { CliConfig } from '../config.js';
import type { PageFlags } from './audit-page.js';
import type { ProveNamed, VerifyOptions } from './audit-proof.js';
import type { CheckFlags } from './audit-check.js';
import { JSON_OPTION, REASON_OPTION, type Action, type ReasonFlag } from './action.js';

/** Behind a change of the key a proof has what several keys have signed. */
const KEY_OPTION = [
  '--key <verifier_key>',
  'as `audit new-key` printed it; where the key was changed, once for each key of the log',
  (key: string, before?: string): string => (before === undefined ? key : `${before} ${key}`),
] as const;
const TRUSTED_OPTION = ['--witness <key...>', 'verifier keys of witnesses that must have seen the checkpoint'] as const;
const NEEDED_OPTION = ['--needed <n>', 'so many of the witnesses are enough (default: all that are named)'] as const;
const ORIGIN_OPTION = ['--origin <name>', 'name of the log', DEFAULT_ORIGIN] as const;
const WITNESS_OPTION = ['--witness <name>', 'as the key of a witness of this name'] as const;
interface KeyFlags {
  origin: string;
  witness?: string;
}

/** For auditors: what proves the log without our server. What does the work is loaded when it is asked for. */
export function addAuditCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const audit = pedigree.command('audit').description('the Merkle log: keys, and proofs that hold without our server');
  audit
    .command('new-key')
    .description('make the key that signs checkpoints, and print the verifier key that auditors are given')
    .argument('<file>')
    .option(...ORIGIN_OPTION)
    .option(...WITNESS_OPTION)
    .action(action(async (file: string, flags: KeyFlags) => (await import('./audit.js')).newAuditKey(file, flags)));
  audit
    .command('show-key')
    .description('print the verifier key of a key that is there')
    .argument('<file>')
    .option(...ORIGIN_OPTION)
    .option(...WITNESS_OPTION)
    .action(action(async (file: string, flags: KeyFlags) => (await import('./audit.js')).showAuditKey(file, flags)));
  audit
    .command('prove')
    .description('prove every event of a document or a stream: prints a file that verifies offline')
    .argument('[document]', "its request_id, the ERP's command id or the ERP's reference")
    .option('--stream <name>', 'any stream of the log instead, such as group-ID, inbound-ID, run-ID or configuration')
    .option(
      '--answer <route>',
      'an answer of the gateway instead, with its events: /v1/packs/SGTIN, or another that docs/auditing.md lists',
    )
    .option('--pack <code>', 'every movement of a pack or a container instead, by SGTIN or SSCC, from sealed segments')
    .option('--no-evidence', 'leave the bytes out that events name by digest')
    .action(
      action(async (document: string | undefined, named: ProveNamed) =>
        (await import('./audit-proof.js')).proveNamed(config(), { ...named, document }),
      ),
    );
  addBreak(audit, action, config);
  addVerify(audit, action);
  addPage(audit, action);
  addCheck(audit, action, config);
  addWholeLog(audit, action, config);
}

function addVerify(audit: Command, action: Action): void {
  audit
    .command('verify')
    .description('check a proof with nothing but the file and the verifier keys; - is standard input')
    .argument('<file>')
    .requiredOption(...KEY_OPTION)
    .option(...TRUSTED_OPTION)
    .option(...NEEDED_OPTION)
    .option(...JSON_OPTION)
    .action(
      action(async (file: string, options: VerifyOptions) =>
        (await import('./audit-proof.js')).verifyProof(file, options),
      ),
    );
}

function addPage(audit: Command, action: Action): void {
  audit
    .command('page')
    .description('write a proof as one HTML file that shows its events and checks itself, without a network')
    .argument('<file>', 'as `audit prove` printed it')
    .requiredOption(...KEY_OPTION)
    .option(...TRUSTED_OPTION)
    .option(...NEEDED_OPTION)
    .option('--out <file>', 'the page (default: named as the proof, with .html)')
    .action(
      action(async (file: string, flags: PageFlags) => (await import('./audit-page.js')).writeProofPage(file, flags)),
    );
}

function addWholeLog(audit: Command, action: Action, config: () => CliConfig): void {
  audit
    .command('visit')
    .description('print the file that an auditor takes home; at the next visit it shows that the log only grew')
    .option('--since <file>', 'of the visit before: the new file has the proof that the log goes on from it')
    .action(action(async ({ since }: { since?: string }) => (await import('./audit-log.js')).visit(config(), since)));
  audit
    .command('verify-visit')
    .description('check with nothing but two files of visits and the verifier key that the log only grew')
    .argument('<since>', 'of the earlier visit')
    .argument('<file>', 'made with --since and the earlier one')
    .requiredOption(...KEY_OPTION)
    .option(...TRUSTED_OPTION)
    .option(...NEEDED_OPTION)
    .option(...JSON_OPTION)
    .action(
      action(async (since: string, file: string, options: VerifyOptions) =>
        (await import('./audit-log.js')).verifyVisit([since, file], options),
      ),
    );
  audit
    .command('export')
    .description('write the whole log as static files for the tools of others (C2SP tlog-tiles); run again, it goes on')
    .argument('<folder>')
    .action(action(async (folder: string) => (await import('./audit-log.js')).exportWholeLog(config(), folder)));
}

function addBreak(audit: Command, action: Action, config: () => CliConfig): void {
  audit
    .command('break')
    .description(
      'tell the auditor that the log does not go on from what was signed (a restore, a move): signs that, and has ' +
        'the log sealed anew from its first event; on the host of the auditor',
    )
    .requiredOption(...REASON_OPTION)
    .action(
      action(async ({ reason }: ReasonFlag) => (await import('./audit-break.js')).breakAuditLog(config(), reason)),
    );
}

function addCheck(audit: Command, action: Action, config: () => CliConfig): void {
  audit
    .command('check')
    .description(
      'hold the whole log, evidence and read models against what the auditor has signed, once; on the host of the ' +
        'auditor; ends with 1 where something was found',
    )
    .option('--mb-per-second <number>', 'read so much in a second at most', megabytes)
    .option(...JSON_OPTION)
    .action(action(async (flags: CheckFlags) => (await import('./audit-check.js')).checkAudit(config(), flags)));
}

function megabytes(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw invalidParameter('--mb-per-second', 'must be a number above 0');
}
