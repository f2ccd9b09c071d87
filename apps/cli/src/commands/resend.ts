import type { Command } from 'commander';
import { defined, invalidConfiguration, PedigreeError } from '#kernel';
import type { GatewayClient, Resend } from '../gateway-client.js';
import { out } from '../print.js';
import { requestIdOfNamed } from '../named-document.js';
import { JSON_OPTION, REASON_OPTION, type Action } from './action.js';
import { withDocumentFilter } from './documents.js';
import { resendMany, type ResendManyOptions } from './resend-many.js';
import { readWhole, textOf } from './send.js';

/** `pedigree resend DOCUMENT`, and `pedigree resend --outcome failed` for many. */
export function addResendCommand(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  const command = pedigree
    .command('resend')
    .description('send a rejected or failed document again, as another one; or many, which are shown first')
    .argument(
      '[document]',
      "its request_id, the ERP's command id or the ERP's reference; absent: those that the options name",
    )
    .requiredOption(...REASON_OPTION)
    .option(
      '--corrected <file>',
      'the corrected document (XML or JSON); without it the same document goes, with a new session_ui',
    )
    .option(
      '--account <name>',
      'of one document: account to send with, by default its own; of many: only those of this account',
    )
    .option(...JSON_OPTION);
  withDocumentFilter(command)
    .option('--limit <n>', 'of many: at most so many, the oldest', '100')
    .option('--confirm <token>', 'of many: send those that the preview with this token has shown');
  command.action(
    action((named: string | undefined, options: ResendOptions & ResendManyOptions) =>
      named === undefined
        ? resendMany(gateway(), withoutCorrection(options))
        : resend(gateway(), named, withoutFilter(options)),
    ),
  );
}

function withoutCorrection(options: ResendOptions & ResendManyOptions): ResendManyOptions {
  if (options.corrected !== undefined)
    throw invalidConfiguration('--corrected', 'is of one document, and none is named');
  return options;
}

function withoutFilter(options: ResendOptions & ResendManyOptions): ResendOptions {
  const filter = (['outcome', 'cause', 'type', 'since', 'until', 'confirm'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (filter !== undefined) throw invalidConfiguration(`--${filter}`, 'is of many documents, and one is named');
  return options;
}

export interface ResendOptions {
  reason: string;
  /** File with the corrected document: XML, or JSON that begins with its action_id. */
  corrected?: string;
  account?: string;
  json?: boolean;
}

/** Sends a rejected or failed document again, and says as which. */
export async function resend(gateway: GatewayClient, named: string, options: ResendOptions): Promise<number> {
  const { reason, account } = options;
  const requestId = await requestIdOfNamed(gateway, named);
  const corrected = options.corrected === undefined ? {} : await documentIn(options.corrected);
  const taken = await gateway.resend(requestId, {
    reason,
    ...defined({ account }),
    ...corrected,
  });
  if (options.json === true) out(JSON.stringify(taken));
  else
    out(
      `${requestId} ${taken.repeated ? 'was sent again before' : 'is sent again'} as ${taken.request_id} (command ` +
        `${taken.command_id})`,
    );
  return 0;
}

async function documentIn(file: string): Promise<Pick<Resend, 'xml' | 'document'>> {
  const text = textOf(file, await readWhole(file));
  if (!text.trimStart().startsWith('{')) return { xml: text };
  try {
    return { document: JSON.parse(text) as object };
  } catch (error) {
    throw new PedigreeError('invalid_json', `${file}: ${(error as Error).message}`, { field: file });
  }
}
