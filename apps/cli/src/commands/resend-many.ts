import { invalidConfiguration, PedigreeError, sha256Hex } from '#kernel';
import type { DocumentSummary } from '#read-models';
import type { Snake } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { goOnWithoutReader } from '../lost-reader.js';
import { out, say, table } from '../print.js';
import { documentsTable, filterParameters, type DocumentFilter } from './documents.js';

export interface ResendManyOptions extends DocumentFilter {
  reason: string;
  limit: string;
  /** The token of the preview that was read. */
  confirm?: string;
  json?: boolean;
}

/** What would be sent again, and what would not although the filter names it. */
interface Preview {
  taken: Snake<DocumentSummary>[];
  leftOut: { resent: number; ofGroups: number; beyondLimit: number };
  /** Stands for exactly these documents. */
  token: string;
}

const MOST_AT_ONCE = 1_000;
/** Documents that are looked at to find them: a filter that names more is too wide. */
const MOST_LOOKED_AT = 10_000;
const TOKEN_DIGITS = 8;

/**
 * Sends every rejected or failed document that the filter names again, each as a command of its own. Without the token
 * of a preview nothing is sent: the preview is printed. The id of each command follows from its document, so that a run
 * that was cut may be made again, and nothing goes twice.
 */
export async function resendMany(gateway: GatewayClient, options: ResendManyOptions): Promise<number> {
  const limit = limitOf(options);
  const preview = await previewOf(gateway, options, limit);
  if (preview.taken.length === 0) {
    out(options.json === true ? JSON.stringify({ documents: 0 }) : 'nothing to send again');
    return 0;
  }
  if (options.confirm !== preview.token) return showPreview(preview, options);
  return sendAll(gateway, preview.taken, options);
}

function limitOf({ outcome, cause, limit }: ResendManyOptions): number {
  const refuse = (field: string, message: string): never => {
    throw invalidConfiguration(field, message);
  };
  if (outcome === undefined && cause === undefined)
    refuse('--outcome', 'name a document, or which documents: --outcome failed, --outcome rejected or --cause');
  if (outcome !== undefined && outcome !== 'failed' && outcome !== 'rejected')
    refuse('--outcome', `${outcome} documents are not sent again; failed and rejected ones are`);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_AT_ONCE)
    refuse('--limit', `must be from 1 to ${MOST_AT_ONCE}, not ${limit}`);
  return Number(limit);
}

/** The oldest first: what was given first goes first. */
async function previewOf(gateway: GatewayClient, filter: DocumentFilter, limit: number): Promise<Preview> {
  const query = filterParameters(filter, new Date());
  query.set('limit', '1000');
  const found: Snake<DocumentSummary>[] = [];
  for (let next: string | undefined = ''; next !== undefined;) {
    const path: string = `/v1/documents?${query.toString()}${next === '' ? '' : `&cursor=${encodeURIComponent(next)}`}`;
    const page = (await gateway.raw(path)) as { items: Snake<DocumentSummary>[]; next_cursor?: string };
    found.push(...page.items);
    if (found.length > MOST_LOOKED_AT)
      throw new PedigreeError(
        'invalid_parameter',
        `more than ${MOST_LOOKED_AT} documents are named; narrow it by --since and --until`,
      );
    next = page.next_cursor;
  }
  const open = found.filter((one) => one.resent_as === undefined);
  const single = open.filter((one) => one.group_id === undefined).reverse();
  const taken = single.slice(0, limit);
  return {
    taken,
    leftOut: {
      resent: found.length - open.length,
      ofGroups: open.length - single.length,
      beyondLimit: single.length - taken.length,
    },
    token: `${taken.length}-${sha256Hex(taken.map((one) => one.request_id).join('\n')).slice(0, TOKEN_DIGITS)}`,
  };
}

/** Returns 1 when a token was given that stands for other documents: somebody waits for them to be sent. */
function showPreview({ taken, leftOut, token }: Preview, { confirm, json }: ResendManyOptions): number {
  const isOutdated = confirm !== undefined;
  if (json === true)
    out(
      JSON.stringify({
        documents: taken.length,
        confirm: token,
        left_out: {
          sent_again_before: leftOut.resent,
          members_of_groups: leftOut.ofGroups,
          beyond_limit: leftOut.beyondLimit,
        },
        request_ids: taken.map((one) => one.request_id),
      }),
    );
  else {
    out(documentsTable(taken));
    const counts = new Map<string, number>();
    for (const { cause, outcome } of taken)
      counts.set(cause ?? outcome ?? '', (counts.get(cause ?? outcome ?? '') ?? 0) + 1);
    out(`\n${table(['would be sent again', 'documents'], [...counts])}`);
    const left = [
      [leftOut.resent, 'sent again before'],
      [leftOut.ofGroups, 'members of groups, which are resumed'],
      [leftOut.beyondLimit, 'beyond --limit'],
    ] as const;
    for (const [count, why] of left) if (count > 0) out(`left out: ${count} ${why}`);
  }
  if (isOutdated) say(`pedigree: --confirm ${confirm} stands for other documents than these; nothing was sent`);
  say(`nothing is sent yet: to send these ${taken.length}, say the same with --confirm ${token}`);
  return isOutdated ? 1 : 0;
}

async function sendAll(
  gateway: GatewayClient,
  documents: Snake<DocumentSummary>[],
  { reason, json }: ResendManyOptions,
): Promise<number> {
  // As with send: what was confirmed is sent, whoever reads the results.
  goOnWithoutReader();
  const results: { request_id: string; sent_as?: string; repeated?: boolean; error?: string }[] = [];
  for (const { request_id } of documents) {
    const result = await gateway.resend(request_id, { reason }).then(
      (taken) => ({ sent_as: taken.request_id, repeated: taken.repeated }),
      (error: unknown) => {
        // One that is refused keeps no other back; a gateway that is away ends it, for the rest would end so too.
        if (error instanceof PedigreeError && error.code !== 'unavailable')
          return { error: `${error.code}: ${error.message}` };
        throw error;
      },
    );
    results.push({ request_id, ...result });
    if (json === true) out(JSON.stringify(results.at(-1)));
  }
  const refused = results.filter((one) => one.error !== undefined).length;
  if (json !== true) {
    out(
      table(
        ['request_id', 'sent as', ''],
        results.map((one) => [
          one.request_id,
          one.sent_as,
          one.error ?? (one.repeated === true ? 'sent again before' : undefined),
        ]),
      ),
    );
    out(`${results.length - refused} sent again, ${refused} refused`);
  }
  return refused === 0 ? 0 : 1;
}
