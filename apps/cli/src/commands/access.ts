import type { Command } from 'commander';
import type { z } from 'zod';
import { defined } from '#kernel';
import type { accessPage } from '../../../gateway/src/api/access-answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { fittingTable, instant, out, sayMore } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, type Action } from './action.js';
import { agoAsMoments, momentOf } from './documents.js';
import { withFiles, writtenToFile, type FileOptions } from './list-file.js';

interface AccessOptions extends FileOptions {
  actor?: string;
  actorKind?: string;
  kind?: string;
  object?: string;
  since?: string;
  until?: string;
  limit: string;
  cursor?: string;
  json?: boolean;
}

type Entry = z.infer<typeof accessPage>['items'][number];

/** `pedigree access`: who did what, for auditors. */
export function addAccessCommand(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  withFiles(pedigree.command('access'))
    .description('who did what: keys, evidence that was opened, exports, decisions of people, settings; newest first')
    .option('--actor <name>', 'only what this person, program or API key did')
    .option('--actor-kind <kind>', 'only what persons, systems or registries did: person, system or registry')
    .option('--kind <kind>', 'only of this kind: key, evidence, export, upload, override or configuration')
    .option('--object <name>', 'only what was done to this: a request_id, digest, key, route, setting or stream')
    .option('--since <when>', 'recorded then or later: a date, an instant, or how long ago (90m, 24h, 7d)')
    .option('--until <when>', 'recorded before that')
    .option('--limit <n>', 'entries of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((options: AccessOptions) => showAccess(gateway(), options)));
}

async function showAccess(gateway: GatewayClient, options: AccessOptions): Promise<number> {
  const now = new Date();
  const path = `/v1/access-log?${queryOf(options, now)}`;
  if (await writtenToFile(gateway, { path }, options)) return 0;
  const page = (await gateway.raw(path)) as z.infer<typeof accessPage>;
  if (options.json === true) out(JSON.stringify(page));
  else print(page.items);
  sayMore(page.next_cursor, agoAsMoments(options, now));
  return 0;
}

function queryOf(options: AccessOptions, now: Date): URLSearchParams {
  const { actor, actorKind, kind, object, since, until, limit, cursor } = options;
  const moments = { from: momentOf('--since', since, now), to: momentOf('--until', until, now) };
  const given = { actor, actor_kind: actorKind, kind, object, ...moments, limit, cursor };
  return new URLSearchParams(defined(given));
}

function print(items: Entry[]): void {
  const who = ({ actor }: Entry): string => `${actor.name} (${actor.kind}, ${actor.authenticated_by})`;
  const rows = items.map((one) => [
    ...[instant(one.at), who(one), one.type, one.objects.join(' '), one.reason],
    ...[JSON.stringify(one.details), `${one.stream} ${one.version}`],
  ]);
  out(fittingTable(['at', 'who', 'what', 'object', 'why', 'details', 'event'], rows, 5));
}
