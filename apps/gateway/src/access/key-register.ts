import { randomBytes } from 'node:crypto';
import { newestRestoration } from '#backup';
import { API_KEY_STREAM, decideApiKey, evolveApiKey, type ApiKeyCommand, type ApiKeyEvent } from '#domain';
import {
  newEvent,
  typedEvent,
  type Actor,
  type EventStore,
  type NewEvent,
  type RecordedEvent,
  type Says,
} from '#event-store';
import { invalidParameter, PedigreeError, sha256Hex } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import {
  findKey,
  listKeys,
  lockKey,
  lockKeys,
  newestVersion,
  saveKey,
  stateOf,
  type ApiKeyRow,
  type Role,
} from './key-table.js';

export interface KeyRegisterOptions extends Says {
  pool: Pool;
  store: Pick<EventStore, 'append' | 'readStream'>;
  /** The program that notices what nobody asked for. */
  program: string;
}

/** Who does it, and why, where a person does. */
export interface KeyAct {
  actor: Actor;
  reason?: string;
}

interface NewKey {
  name: string;
  roles: Role[];
  expiresAt: Date;
}

const NAME = /^[\p{L}\p{N}._@-]{1,100}$/u;
const DAY_MS = 86_400_000;
const MOST_KEY_DAYS = 730;
/** Of a key from before keys had an end, counted from its adoption. */
const ADOPTED_KEY_DAYS = 365;
const PAGE_EVENTS = 500;
const MOST_CONFLICTS = 20;

/**
 * The one place where something happens to an API key: it decides, appends to the stream `api-keys`, and takes the
 * events into the table that gateways ask. The event comes first. Whoever dies before the row follows leaves that to
 * the next who looks, a gateway within seconds.
 */
export class KeyRegister {
  constructor(private readonly options: KeyRegisterOptions) {}

  /**
   * Makes a key and returns it; it is shown this once and never again. Throws PedigreeError for a wrong name or expiry,
   * and for a name that was used.
   */
  async make({ name, roles, expiresAt }: NewKey, act: KeyAct): Promise<string> {
    if (!NAME.test(name))
      throw invalidParameter('name', `${name} is none; take 1 to 100 letters, digits, dots, hyphens, underscores or @`);
    const leftMs = expiresAt.getTime() - Date.now();
    if (leftMs <= 0) throw invalidParameter('--expires', `${expiresAt.toISOString()} is over`);
    if (leftMs > MOST_KEY_DAYS * DAY_MS)
      throw invalidParameter('--expires', `a key lasts ${MOST_KEY_DAYS} days at most`);
    const key = `pdg_${randomBytes(32).toString('base64url')}`;
    const facts = {
      key: name,
      keySha256: sha256Hex(key),
      roles,
      expiresAt: expiresAt.toISOString(),
      ...(await this.restoration()),
    };
    if (!(await this.record({ type: 'Make', ...facts }, act)))
      throw new PedigreeError(
        'invalid_parameter',
        `there was a key ${name} before, and names are for ever; take another one`,
        { field: 'name', item: name },
      );
    return key;
  }

  /** Throws PedigreeError `not_found` for a name that no key has. False: it was revoked before. */
  async revoke(name: string, act: KeyAct): Promise<boolean> {
    const isNews = await this.record({ type: 'Revoke', key: name }, act);
    if (!isNews) await this.existing(name);
    return isNews;
  }

  /**
   * Lifts the suspension of a restore. Throws PedigreeError `not_found`, or `invalid_parameter` for a key that is not
   * suspended.
   */
  async confirm(name: string, act: KeyAct): Promise<void> {
    const { restorationId } = await this.restoration();
    if (restorationId !== undefined && (await this.record({ type: 'Confirm', key: name, restorationId }, act))) return;
    const { standing } = await this.existing(name);
    throw new PedigreeError(
      'invalid_parameter',
      `key ${name} is ${standing}, not suspended; there is nothing to confirm`,
      { field: 'name', item: name },
    );
  }

  /** Once for each key, whoever notices it first. */
  async noteFirstUse(name: string, { actor, address }: { actor: Actor; address: string }): Promise<void> {
    await this.record({ type: 'NoteFirstUse', key: name, address }, { actor });
  }

  /**
   * Takes into the table what the log has, and into the log the keys of an older version and those whose time is over.
   */
  async catchUp(): Promise<void> {
    await this.follow();
    for (const row of await listKeys(this.options.pool)) {
      if (row.version === null) await this.adopt(row);
      else if (row.standing === 'expired' && row.expiredAt === null)
        await this.record({ type: 'NoteExpiry', key: row.name }, { actor: this.program });
    }
  }

  private async adopt({ name, keySha256, roles, madeAt, revokedAt, restorationId }: ApiKeyRow): Promise<void> {
    const facts = {
      key: name,
      keySha256,
      roles,
      expiresAt: new Date(Date.now() + ADOPTED_KEY_DAYS * DAY_MS).toISOString(),
      madeAt: madeAt.toISOString(),
    };
    const known = {
      ...(revokedAt === null ? {} : { revokedAt: revokedAt.toISOString() }),
      ...(restorationId === null ? {} : { restorationId }),
    };
    await this.record({ type: 'Adopt', ...facts, ...known }, { actor: this.program });
  }

  private async existing(name: string): Promise<ApiKeyRow> {
    const row = await findKey(this.options.pool, name);
    if (row === undefined)
      throw new PedigreeError('not_found', `there is no key ${name}; pedigree keys list shows those that there are`, {
        field: 'name',
        item: name,
      });
    return row;
  }

  private async restoration(): Promise<{ restorationId?: string }> {
    const newest = await newestRestoration(this.options.pool);
    return newest === undefined ? {} : { restorationId: newest.id };
  }

  /** False when the command says nothing new. Decides again when somebody else was first. */
  private async record(command: ApiKeyCommand, act: KeyAct): Promise<boolean> {
    const { store, pool } = this.options;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const version = await this.follow();
      const events = decideApiKey(stateOf(await findKey(pool, command.key)), command);
      if (events.length === 0) return false;
      const appended = await store.append(
        API_KEY_STREAM,
        version === -1 ? 'none' : version,
        events.map((event) => this.envelope(event, act)),
      );
      if (appended.kind === 'conflict') {
        if (appended.actualVersion < version) throw behindTable(version, appended.actualVersion);
        continue;
      }
      await this.follow();
      return true;
    }
    throw new PedigreeError('unavailable', 'the API keys change all the time; try again', { item: command.key });
  }

  /** Takes what is new in the stream into the table, and returns the version up to which it did. */
  private async follow(): Promise<number> {
    const { pool, store } = this.options;
    for (;;) {
      const version = await newestVersion(pool);
      const page = await store.readStream(API_KEY_STREAM, { fromVersion: version + 1, limit: PAGE_EVENTS });
      if (page.length === 0) return version;
      await inTransaction(
        pool,
        async (tx) => {
          await lockKeys(tx);
          for (const event of page) await takeIn(tx, event);
        },
        { name: 'events of API keys' },
      );
    }
  }

  private get program(): Actor {
    return { kind: 'system', name: this.options.program, authenticatedBy: 'process' };
  }

  private envelope(event: ApiKeyEvent, act: KeyAct): NewEvent {
    const { key } = event.data;
    const ids = { correlationId: `api_key:${key}`, causationId: `${event.type}:${key}` };
    return newEvent(event, { says: this.options, ...act, at: new Date(), ...ids });
  }
}

const behindTable = (version: number, actualVersion: number): PedigreeError =>
  new PedigreeError(
    'invalid_configuration',
    `the table of API keys has taken in event ${version} of ${API_KEY_STREAM}, and the stream ends at ` +
      `${actualVersion}: this is not the log of this database, or one of the two was restored without the other`,
  );

/** Events of one page are taken in together, so that the greatest version in the table never stands before a gap. */
async function takeIn(tx: Transaction, recorded: RecordedEvent): Promise<void> {
  const event = typedEvent<ApiKeyEvent>(recorded);
  const { recordedAt, version } = recorded;
  const row = await lockKey(tx, event.data.key);
  if (row !== undefined && row.version !== null && row.version >= version) return;
  await saveKey(tx, evolveApiKey(stateOf(row), event, recordedAt.toISOString()), version);
}
