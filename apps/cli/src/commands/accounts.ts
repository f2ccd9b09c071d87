import type { Command } from 'commander';
import type { z } from 'zod';
import type { account, accountList } from '../../../gateway/src/api/account-answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { instant, out, table } from '../print.js';
import { JSON_OPTION, REASON_OPTION, type Action } from './action.js';

type Account = z.infer<typeof account>;

/** `pedigree accounts`, and `pedigree accounts resume NAME --reason TEXT`. */
export function addAccountCommands(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  const accounts = pedigree
    .command('accounts')
    .description('accounts at the registry: how they stand; status 2 when one is paused');
  accounts
    .command('list', { isDefault: true })
    .description('how they stand, with their certificates; status 2 when one is paused')
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean }) => listAccounts(gateway(), options.json === true)));
  accounts
    .command('resume')
    .description('have a paused account go on, once its cause is mended')
    .argument('<name>')
    .requiredOption(...REASON_OPTION)
    .action(action((name: string, options: { reason: string }) => resumeAccount(gateway(), name, options.reason)));
}

/** Returns 0 when all work, 2 when one is paused and somebody must look. */
async function listAccounts(gateway: GatewayClient, json: boolean): Promise<number> {
  const { items } = (await gateway.raw('/v1/accounts')) as z.infer<typeof accountList>;
  const row = ({ name, state, cause, since, certificate, waiting, text }: Account): (string | number | undefined)[] => [
    name,
    state,
    cause,
    instant(since),
    certificate?.subject,
    instant(certificate?.valid_to),
    waiting,
    text ?? endingSoon(certificate?.valid_to),
  ];
  out(
    json
      ? JSON.stringify(items)
      : table(['account', 'state', 'cause', 'since', 'certificate', 'ends', 'waiting', 'why'], items.map(row)),
  );
  return items.some((one) => one.state === 'paused') ? 2 : 0;
}

const DAY_MS = 86_400_000;
/** As early as the alert CertificateEndsSoon. */
const WARNED_DAYS = 30;

function endingSoon(validTo: string | undefined): string | undefined {
  const days = validTo === undefined ? Infinity : Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  return days < WARNED_DAYS ? `its certificate ends in ${days} days` : undefined;
}

async function resumeAccount(gateway: GatewayClient, name: string, reason: string): Promise<number> {
  const { state, waiting } = (await gateway.change('POST', `/v1/accounts/${encodeURIComponent(name)}/resumptions`, {
    reason,
  })) as Account;
  out(`${name} is ${state}; ${waiting} waiting`);
  return 0;
}
