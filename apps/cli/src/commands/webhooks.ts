import type { Command } from 'commander';
import type { z } from 'zod';
import type { newWebhook, webhook, webhookList } from '../../../gateway/src/api/answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { out, table } from '../print.js';
import { JSON_OPTION, REASON_OPTION, type Action } from './action.js';

type Webhook = z.infer<typeof webhook>;

/** `pedigree webhooks add | list | remove | rotate | resume`. */
export function addWebhookCommands(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  const webhooks = pedigree.command('webhooks').description('addresses to which outcomes are posted, signed');
  webhooks
    .command('add')
    .description('have outcomes posted to an address; prints the secret, once')
    .argument('<url>', 'https, or http on the same machine')
    .option('--description <text>')
    .option('--from <place>', 'begin with what comes `now` or with the `oldest` that is kept', 'now')
    .option(...REASON_OPTION)
    .action(action((url: string, options: object) => addWebhook(gateway(), { url, ...options })));
  webhooks
    .command('list')
    .description('how far each has come; status 2 when one has halted')
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean }) => listWebhooks(gateway(), options.json === true)));
  webhooks
    .command('remove')
    .description('post there no more')
    .argument('<id>')
    .option(...REASON_OPTION)
    .action(action((id: string, options: { reason?: string }) => removeWebhook(gateway(), id, options.reason)));
  webhooks
    .command('rotate')
    .description('give it a new secret and print it, once; the old one signs too for a day')
    .argument('<id>')
    .option(...REASON_OPTION)
    .action(action((id: string, options: object) => rotateSecret(gateway(), id, options)));
  webhooks
    .command('resume')
    .description('have a halted webhook go on')
    .argument('<id>')
    .option(
      '--from <place>',
      '`here`, where it stopped, behind the `next` one, which is refused, the `oldest` that is kept, or `now`',
      'here',
    )
    .option(...REASON_OPTION)
    .action(action((id: string, options: object) => resumeWebhook(gateway(), id, options)));
}

async function addWebhook(gateway: GatewayClient, wanted: object): Promise<number> {
  const { id, secret } = (await gateway.change('POST', '/v1/webhooks', wanted)) as z.infer<typeof newWebhook>;
  out(`id      ${id}\nsecret  ${secret}`);
  return 0;
}

/** Returns 0 when all work, 2 when one was given up and somebody must look. */
async function listWebhooks(gateway: GatewayClient, json: boolean): Promise<number> {
  const list = (await gateway.raw('/v1/webhooks')) as z.infer<typeof webhookList>;
  if (json) out(JSON.stringify(list));
  else
    out(
      table(
        ['id', 'address', 'state', 'lacks', 'why'],
        list.items.map(({ id, url, state, behind, last_error }: Webhook) => [id, url, state, behind, last_error]),
      ),
    );
  return list.items.some((one) => one.state === 'halted') ? 2 : 0;
}

async function removeWebhook(gateway: GatewayClient, id: string, reason: string | undefined): Promise<number> {
  await gateway.change(
    'DELETE',
    `/v1/webhooks/${encodeURIComponent(id)}${reason === undefined ? '' : `?reason=${encodeURIComponent(reason)}`}`,
  );
  out(`${id} is removed`);
  return 0;
}

async function rotateSecret(gateway: GatewayClient, id: string, change: object): Promise<number> {
  const path = `/v1/webhooks/${encodeURIComponent(id)}/secrets`;
  const { secret, earlier_secret_until: until } = (await gateway.change('POST', path, change)) as z.infer<
    typeof newWebhook
  >;
  out(`secret  ${secret}`);
  if (until !== undefined) out(`until ${until} the one before signs too`);
  return 0;
}

async function resumeWebhook(gateway: GatewayClient, id: string, change: object): Promise<number> {
  const { state, behind } = (await gateway.change(
    'POST',
    `/v1/webhooks/${encodeURIComponent(id)}/resume`,
    change,
  )) as Webhook;
  out(`${id} is ${state}; it lacks ${behind}`);
  return 0;
}
