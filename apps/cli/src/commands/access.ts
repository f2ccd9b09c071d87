import type { Command } from 'commander';
import type { z } from 'zod';
import type { accessPage } from '../../../gateway/src/api/access-answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { fitting, instant, out, say, table } from '../print.js';
import { JSON_OPTION, type Action } from './action.js';
import { momentOf } from './documents.js';
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
    .option('--cursor <cursor>', 'the page behind, as the page before named it')
    .option(...JSON_OPTION)
    .action(action((options: AccessOptions) => showAccess(gateway(), options)));
}

async function showAccess(gateway: GatewayClient, options: AccessOptions): Promise<number> {
  const path = `/v1/access-log?${queryOf(options).toString()}`;
  if (await writtenToFile(gateway, { path }, options)) return 0;
  const page = (await gateway.raw(path)) as z.infer<typeof accessPage>;
  if (options.json === true) out(JSON.stringify(page));
  else print(page.items);
  if (page.next_cursor !== undefined) say(`there are more: --cursor ${page.next_cursor}`);
  return 0;
}

function queryOf({ actor, actorKind, kind, object, since, until, limit, cursor }: AccessOptions): URLSearchParams {
  const now = new Date();
  const moments = { from: momentOf('--since', since, now), to: momentOf('--until', until, now) };
  const given = { actor, actor_kind: actorKind, kind, object, ...moments, limit, cursor };
  return new URLSearchParams(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function print(items: Entry[]): void {
  const who = ({ actor }: Entry): string => `${actor.name} (${actor.kind}, ${actor.authenticated_by})`;
  const rows = items.map((one) => [instant(one.at), who(one), one.type, one.objects.join(' '), one.reason]);
  const more = items.map((one) => [JSON.stringify(one.details), `${one.stream} ${one.version}`]);
  const head = ['at', 'who', 'what', 'object', 'why'];
  out(
    fitting(
      table(
        [...head, 'details', 'event'],
        rows.map((row, index) => [...row, ...(more[index] ?? [])]),
        Infinity,
      ),
      table(head, rows),
    ),
  );
}
