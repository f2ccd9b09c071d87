import type { z } from 'zod';
import { defined, invalidParameter } from '#kernel';
import type { caseDetail } from '#read-models';
import type { caseActionResults, casePage } from '../../../gateway/src/api/case-answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { facts, fittingTable, instant, out, sayMore, table } from '../print.js';
import { showAnswer, type FileOptions } from './list-file.js';

export interface CaseListOptions extends FileOptions {
  state?: string;
  all?: boolean;
  severity?: string;
  code?: string;
  place?: string;
  document?: string;
  container?: string;
  gtin?: string;
  series?: string;
  assignee?: string;
  overdue?: boolean;
  limit: string;
  cursor?: string;
  json?: boolean;
}

type Detail = z.infer<typeof caseDetail>;

/** Lists what is unresolved, or all. */
export function listCases(gateway: GatewayClient, options: CaseListOptions): Promise<number> {
  const { state, severity, code, place, document, container, gtin, series, assignee, cursor, limit } = options;
  const flags = defined({
    overdue: options.overdue === true ? 'true' : undefined,
    unresolved: options.all === true || state !== undefined ? undefined : 'true',
  });
  const wanted = {
    ...defined({ state, severity, code, place, document, container, gtin, series, assignee }),
    ...flags,
  };
  const query = (more: object): string =>
    new URLSearchParams({ ...wanted, ...more } as Record<string, string>).toString();
  const path = `/v1/cases?${query(defined({ cursor, limit }))}`;
  return showAnswer(gateway, { path, whole: `/v1/cases?${query({})}`, show: printCases }, options);
}

function printCases(page: z.infer<typeof casePage>): void {
  const head = ['case', 'severity', 'state', 'due', 'code', 'what', 'assignee', 'runs'];
  const rows = page.items.map((one) => [
    ...[
      one.case_id,
      one.severity,
      one.overdue ? `${one.state}, overdue` : one.state,
      one.due_at.slice(0, 10),
      one.code,
    ],
    ...[one.sentence, one.assignee, String(one.runs_seen)],
  ]);
  out(fittingTable(head, rows, 6));
  sayMore(page.next_cursor);
}

/** Shows one case with its history. */
export async function showCase(gateway: GatewayClient, caseId: string, isJson: boolean): Promise<number> {
  const found = (await gateway.raw(`/v1/cases/${encodeURIComponent(caseId)}`)) as Detail;
  if (isJson) out(JSON.stringify(found));
  else print(found);
  return 0;
}

function print(found: Detail): void {
  const { last_run: run, packs_run: items = run } = found;
  out(
    facts([
      ...([
        ['case', found.case_id],
        ['code', found.code],
        ['severity', found.severity],
      ] as [string, string][]),
      ['state', found.overdue ? `${found.state}, overdue` : found.state],
      ['what', found.sentence],
      ['remedy', found.remedy],
      ['due', instant(found.due_at)],
      ['assignee', found.assignee],
      ['first seen', instant(found.first_seen_at)],
      ['last seen', `${instant(found.last_seen_at)}, in ${found.runs_seen} runs`],
      ['last run', `${run.kind} ${run.id}`],
      ['not judged', found.unjudged === undefined ? undefined : `${found.unjudged} of ${found.item_count} items`],
      ['items', items.file === undefined ? undefined : `rows ${items.from} to ${items.to} of ${items.file}`],
      ['can be sent', found.suggested_action],
      ['parts', found.parts.join(', ')],
      ['part of', found.part_of],
    ]),
  );
  const lines = found.timeline.map((one) => [instant(one.at), one.actor, one.sentence]);
  out(`\n${table(['when', 'who', 'what'], lines)}`);
}

/** Does the same about some cases; status 1 when it was not done about one of them. */
export async function actOnCases(
  gateway: GatewayClient,
  cases: string[],
  action: { action: string; reason: string; assignee?: string | null; resolution?: string },
): Promise<number> {
  const answer = await gateway.change('POST', '/v1/cases/actions', { ...action, cases });
  const { items } = answer as z.infer<typeof caseActionResults>;
  for (const { case_id, why } of items) out(why === undefined ? `${case_id}: done` : `${case_id}: not done, ${why}`);
  return items.every(({ done }) => done) ? 0 : 1;
}

/** Has the suggested document of a case sent. */
export async function releaseCase(
  gateway: GatewayClient,
  caseId: string,
  asked: { reason: string; account?: string },
): Promise<number> {
  const path = `/v1/cases/${encodeURIComponent(caseId)}/releases`;
  const { remedy_request_id: requestId } = (await gateway.change('POST', path, asked)) as Detail;
  out(
    `${caseId}: ${requestId === undefined ? 'its document has ended already' : `document ${requestId} is on its way`}`,
  );
  return 0;
}

/** Makes a case of its own of some items of one. */
export async function splitCase(
  gateway: GatewayClient,
  caseId: string,
  { items, reason }: { items: string; reason: string },
): Promise<number> {
  const named = items.split(',').map((one) => one.trim());
  if (named.includes('')) throw invalidParameter('--items', 'an item is empty');
  const path = `/v1/cases/${encodeURIComponent(caseId)}/actions`;
  const after = (await gateway.change('POST', path, { action: 'split', items: named, reason })) as Detail;
  out(`${after.parts.at(-1)} holds ${named.length} of its items`);
  return 0;
}
