import { KeyRegister, type KeyAct } from '../../../gateway/src/access/key-register.js';
import { listKeys, ROLES, type ApiKeyRow, type Role } from '../../../gateway/src/access/key-table.js';
import { gatewaySchemas } from '../../../gateway/src/schemas.js';
import { settleLog } from '#event-store';
import { invalidParameter } from '#kernel';
import { migrateOrCheck, type Pool } from '#postgres';
import type { CliConfig } from '../config.js';
import { out, say, table } from '../print.js';
import { personOnHost, reasonGiven, saidBy } from '../stack/host-act.js';
import { mustBeInstalled, withDatabase, withStore } from '../stack/with-database.js';

export interface NewKeyFlags {
  role: string[];
  reason: string;
  expires: string;
}

const DAY_MS = 86_400_000;

/** Makes a key and prints it, this once. */
export async function addKey(config: CliConfig, name: string, { role, reason, expires }: NewKeyFlags): Promise<number> {
  const wrong = role.find((one) => !(ROLES as readonly string[]).includes(one));
  if (wrong !== undefined) throw invalidParameter('--role', `${wrong} is none of ${ROLES.join(', ')}`);
  const expiresAt = momentOf(expires);
  const key = await withRegister(config, reason, (register, act) =>
    register.make({ name, roles: role as Role[], expiresAt }, act),
  );
  say(`${name} works until ${expiresAt.toISOString()}`);
  out(key);
  return 0;
}

/** A date, or so many days from now. */
function momentOf(expires: string): Date {
  const date = new Date(`${expires}T00:00:00Z`);
  if (/^\d{1,4}$/.test(expires)) return new Date(Date.now() + Number(expires) * DAY_MS);
  if (/^\d{4}-\d{2}-\d{2}$/.test(expires) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(expires))
    return date;
  throw invalidParameter('--expires', `${expires} is neither a date such as 2027-03-31 nor a number of days`);
}

/** Returns 0, or 2 when a key waits for somebody to confirm it. */
export async function showKeys(config: CliConfig, json: boolean): Promise<number> {
  mustBeInstalled(config);
  const rows = await withDatabase(config, async (pool) => {
    await prepare(pool);
    return listKeys(pool);
  });
  const shown = ({
    name,
    roles,
    standing,
    madeAt,
    firstUsedAt,
    lastUsedAt,
    revokedAt,
    expiresAt,
  }: ApiKeyRow): (string | undefined)[] => [
    ...[name, roles.join(' '), standing],
    ...[madeAt, firstUsedAt, lastUsedAt, revokedAt ?? expiresAt].map(day),
  ];
  out(
    json
      ? JSON.stringify(rows.map(told))
      : table(['name', 'roles', 'state', 'made', 'first used', 'last used', 'ends'], rows.map(shown)),
  );
  return rows.some((one) => one.standing === 'suspended') ? 2 : 0;
}

/** For programs, in the words of the API. */
const told = ({ name, roles, standing, madeAt, firstUsedAt, lastUsedAt, revokedAt, expiresAt }: ApiKeyRow): object => ({
  name,
  roles,
  state: standing,
  made_at: madeAt,
  first_used_at: firstUsedAt ?? undefined,
  last_used_at: lastUsedAt ?? undefined,
  revoked_at: revokedAt ?? undefined,
  expires_at: expiresAt ?? undefined,
});

const day = (at: Date | null): string | undefined => at?.toISOString().slice(0, 10);

/** Returns 0, or 1 when it was revoked before. */
export async function revokeKey(config: CliConfig, name: string, reason: string): Promise<number> {
  const isNews = await withRegister(config, reason, (register, act) => register.revoke(name, act));
  say(isNews ? `${name} is revoked` : `${name} was revoked before`);
  return isNews ? 0 : 1;
}

export async function confirmKey(config: CliConfig, name: string, reason: string): Promise<number> {
  await withRegister(config, reason, (register, act) => register.confirm(name, act));
  say(`${name} works again`);
  return 0;
}

async function prepare(pool: Pool): Promise<void> {
  await migrateOrCheck(pool, gatewaySchemas);
}

function withRegister<T>(
  config: CliConfig,
  reason: string,
  work: (register: KeyRegister, act: KeyAct) => Promise<T>,
): Promise<T> {
  const act = { actor: personOnHost(), reason: reasonGiven(reason) };
  const { participant, eventStoreUrl } = config;
  return withDatabase(config, async (pool) => {
    await prepare(pool);
    return withStore(config, pool, async (store) => {
      await settleLog({ db: pool, store, eventStoreUrl, participant, program: 'cli' });
      const register = new KeyRegister({ pool, store, program: 'cli', ...saidBy(config) });
      await register.catchUp();
      return work(register, act);
    });
  });
}
