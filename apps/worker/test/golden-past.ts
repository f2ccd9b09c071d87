import { randomUUID } from 'node:crypto';
import type { DocumentReference, GroupKind, GroupRegistration, Registration } from '#domain';
import type { NewEvent } from '#event-store';
import { defined, sha256Hex, uuid5, type JsonObject } from '#kernel';
import type { DocumentStatus } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { StartFate } from './fake-groups.js';
import { receiptXml, type SendFate } from './fake-registry.js';
import type { UploadFates } from './fake-uploads.js';
import { ENDED_AT_ONCE, LARGE_BYTES, type GoldenWorld } from './golden-world.js';

export const NAMES = '0a3f5c1e-7d3b-4f0e-9a51-2b6f8c4d7e90';
export const ERP = { kind: 'system', name: 'erp', authenticatedBy: 'api-key' } as const;
export const PERSON = { kind: 'person', name: 'olga', authenticatedBy: 'api-key' } as const;
const AT_ONCE = new Date(0);
/** A look-up, or a look at a group, that is late enough to prove something. */
export const LATE_MS = 3_600_000;

interface Given {
  after?: string[];
  docType?: number;
  large?: true;
  account?: string;
  resendOf?: string;
}

interface GivenGroup {
  after?: string[];
  kind?: GroupKind;
  /** The name of the halted group, and of the member in whose place each of these comes. */
  resumes?: { group: string; members: string[] };
  large?: true;
}

/** How the next calls go. */
interface How extends UploadFates {
  send?: SendFate[];
  start?: StartFate[];
  laterMs?: number;
}

/** Tells what happened in the golden database, a task at a time. Documents and groups are known by names. */
export class GoldenPast {
  readonly ids: Record<string, string> = {};
  private tasks = 0;

  constructor(readonly world: GoldenWorld) {}

  idOf(name: string): string {
    return (this.ids[name] ??= uuid5(name, NAMES));
  }

  refer(name: string): DocumentReference {
    return { commandId: `command-${name}`, requestId: this.idOf(name) };
  }

  documentIdOf(name: string): string {
    return this.world.registry.taken.get(this.idOf(name))?.[0] ?? `nothing of ${name}`;
  }

  /** What the gateway schedules for a command; done at once, unless it is left for the next version. */
  async command(name: string, payload: object, { isLeft = false } = {}): Promise<void> {
    await this.schedule(`run_command:${this.idOf(name)}`, 'intake', payload);
    if (!isLeft) await this.do('run_command', name);
  }

  async schedule(key: string, lane: string, payload: object): Promise<void> {
    const { pool, queue } = this.world.parts;
    const [kind = ''] = key.split(':');
    await queue.schedule(pool, [{ key, kind, lane, dueAt: AT_ONCE, payload: payload as JsonObject }]);
  }

  async registration(name: string, { after = [], docType = 701, large, account = 'main', resendOf }: Given = {}) {
    const xml = documentXml(this.idOf(name), { docType, isLarge: large === true });
    const registration: Registration = {
      requestId: this.idOf(name),
      commandId: `command-${name}`,
      reference: `order ${name}`,
      account,
      docType,
      documentSha256: await this.world.parts.evidence.put(xml, 'application/xml'),
      byteLength: xml.length,
      itemCount: docType === 911 ? 2 : 1,
      subjectId: '00000000100930',
      docNum: `no-${name}`,
      counterpartyId: '00000000100931',
      operationDate: '2026-11-20T10:15:00+03:00',
      after: after.map((one) => this.refer(one)),
      ...(resendOf === undefined
        ? {}
        : { resendOf: this.refer(resendOf), firstCommand: { commandId: `command-${resendOf}` } }),
    };
    return registration;
  }

  async register(name: string, given: Given = {}): Promise<void> {
    await this.command(name, { registration: await this.registration(name, given), actor: ERP, reason: 'given' });
  }

  async group(name: string, size: number, { after = [], kind = 'given', resumes, large }: GivenGroup = {}) {
    const names = Array.from({ length: size }, (_, i) => `${name}.${i}`);
    const membership = { groupId: this.idOf(name), of: size, kind };
    const members = await Promise.all(
      names.map(async (one, index) => ({
        ...(await this.registration(one, large === undefined ? {} : { large })),
        group: { ...membership, index },
        ...(resumes === undefined ? {} : { supersedes: this.refer(resumes.members[index] as string) }),
      })),
    );
    const documentSha256 = await this.world.parts.evidence.put(Buffer.from(name), 'application/xml');
    const group: GroupRegistration = {
      groupId: this.idOf(name),
      commandId: `command-${name}`,
      reference: `group ${name}`,
      account: 'main',
      kind,
      members,
      after: after.map((one) => this.refer(one)),
      ...(kind === 'split' ? { original: { documentSha256, byteLength: 4_000, docType: 701, itemCount: size } } : {}),
      ...(resumes === undefined
        ? {}
        : {
            resumes: { groupId: this.idOf(resumes.group), commandId: `command-${resumes.group}` },
            firstCommand: { commandId: `command-${resumes.group}` },
          }),
    };
    return group;
  }

  async registerGroup(name: string, size: number, given: GivenGroup = {}): Promise<void> {
    await this.command(name, { group: await this.group(name, size, given), actor: ERP });
  }

  /** Does the oldest task of this kind that is about it, and what follows at once inside. */
  async do(kind: string, name: string, how: How = {}): Promise<TaskResult> {
    const result = await this.doAlone(kind, name, how);
    await this.inside();
    return result;
  }

  /** Nobody hears of it yet, the saga and the read models included. */
  async doAlone(kind: string, name: string, { laterMs = 0, ...fates }: How = {}): Promise<TaskResult> {
    this.next(fates);
    return this.world.work(await this.taskOf(kind, this.ids[name] ?? name), laterMs);
  }

  /** The registry says that there is no such thing until nobody asks any more. */
  async giveUp(kind: 'inbound_download' | 'inbound_receipt', name: string): Promise<void> {
    for (let tries = 0; tries < 20; tries += 1) {
      this.world.registry.fail(kind === 'inbound_receipt' ? 'receipt' : 'downloadDocument', 'not_found');
      if ((await this.do(kind, name)).kind === 'done') return;
    }
    throw new Error(`${kind} of ${name} is not given up`);
  }

  /** The process dies in the middle of the call; `first` is done before that. */
  async dieAt(kind: string, name: string, first: () => unknown = () => undefined): Promise<void> {
    const { registry, uploads, groups } = this.world;
    const die = (): Promise<void> => {
      first();
      return Promise.reject(new Error('the process is dead'));
    };
    const alive = () => Promise.resolve();
    [registry.beforeSend, uploads.beforeFinish, groups.beforeStart] = [die, die, die];
    const died = await this.do(kind, name).catch((error: Error) => error.message);
    [registry.beforeSend, uploads.beforeFinish, groups.beforeStart] = [alive, alive, alive];
    if (died !== 'the process is dead') throw new Error(`${kind} of ${name} did not die`);
    await this.world.catchUp();
  }

  /** What calls nobody is done as soon as it is due. */
  async inside(): Promise<void> {
    await this.world.catchUp('sagas');
    for (;;) {
      const { rows } = await this.world.parts.pool.query<{ id: bigint }>(
        `SELECT id FROM task WHERE lane = 'internal' AND due_at <= now() AND lease_until <= now() AND kind <> 'replan'
         ORDER BY id`,
      );
      if (rows.length === 0) return;
      for (const { id } of rows) await this.world.work(id, 0);
      await this.world.catchUp('sagas');
    }
  }

  /** What the receipt of it will say. */
  says(name: string, result: string): void {
    this.world.registry.receipts.set(this.idOf(name), receiptOf(this.idOf(name), result));
  }

  show(name: string, status: DocumentStatus): void {
    this.world.registry.statusOf.set(this.documentIdOf(name), status);
  }

  async sent(name: string, given: Given = {}, ...send: SendFate[]): Promise<void> {
    await this.register(name, given);
    await this.do('send', name, { send });
  }

  /** Its status is read, and then its receipt. */
  async end(name: string, result = 'Accepted'): Promise<void> {
    this.says(name, result);
    this.show(name, 'processed');
    await this.do('status', name);
    await this.do('receipt', name);
  }

  async ended(name: string, result = 'Accepted', given: Given = {}): Promise<void> {
    await this.sent(name, given);
    await this.end(name, result);
  }

  async failed(name: string, given: Given = {}): Promise<void> {
    await this.sent(name, given);
    this.show(name, 'failed');
    await this.do('status', name);
  }

  async decide(
    name: string,
    decision: 'release' | 'end',
    of: { predecessors: string[]; isGroup?: true },
  ): Promise<void> {
    const { isGroup } = of;
    const predecessors = of.predecessors.map((one) => this.idOf(one));
    const requestId = this.idOf(name);
    this.tasks += 1;
    await this.schedule(`decide_hold:${requestId}:${this.tasks}:${decision}`, 'internal', {
      requestId,
      predecessors,
      decision,
      actor: PERSON,
      reason: 'I have seen it',
      ...defined({ isGroup }),
    });
  }

  /** Its members are sent, one after the other. */
  async sendMembers(name: string, size: number, from = 0): Promise<void> {
    for (let i = from; i < size; i += 1) await this.do('send', `${name}.${i}`);
  }

  async startable(name: string, size: number, given: GivenGroup = {}): Promise<void> {
    await this.registerGroup(name, size, given);
    await this.sendMembers(name, size);
    await this.do('group_check', name);
  }

  async started(name: string, size: number, given: GivenGroup = {}): Promise<void> {
    await this.startable(name, size, given);
    await this.do('group_start', name);
  }

  async append(stream: string, events: { type: string; data: object }[]): Promise<void> {
    const { store } = this.world.parts;
    const about = { participant: 'own', actor: PERSON, softwareVersion: 'test', profile: 'interface-v1' };
    const metadata = { ...about, effectiveAt: '2026-11-20T10:15:00Z', correlationId: NAMES, causationId: NAMES };
    const rest = { schemaVersion: 1, metadata };
    await store.append(
      stream,
      'none',
      events.map((one): NewEvent => ({ ...one, ...rest, id: randomUUID() })),
    );
  }

  private next({ send = [], start = [], announce = [], part = [], finish = [] }: How): void {
    const { registry, groups, uploads } = this.world;
    registry.fates.push(...send);
    groups.fates.push(...start);
    uploads.fates.announce.push(...announce);
    uploads.fates.part.push(...part);
    uploads.fates.finish.push(...finish);
  }

  private async taskOf(kind: string, id: string): Promise<bigint> {
    const { rows } = await this.world.parts.pool.query<{ id: bigint }>(
      `SELECT id FROM task WHERE kind = $1 AND key LIKE $1 || ':' || $2 || '%' AND key NOT LIKE '%:verify'
       AND failed_at IS NULL AND lease_until <= now() ORDER BY id LIMIT 1`,
      [kind, id],
    );
    if (rows[0] === undefined) throw new Error(`there is no task ${kind} of ${this.nameOf(id)}`);
    return rows[0].id;
  }

  private nameOf = (id: string): string => Object.keys(this.ids).find((name) => this.ids[name] === id) ?? id;
}

const sgtin = (of: string, n = 0): string =>
  `<sgtin>04601234567893${sha256Hex(Buffer.from(`${of} ${n}`))
    .slice(0, 13)
    .toUpperCase()}</sgtin>`;
const SUBJECT = '<subject_id>00000000100930</subject_id>';
const DATE = '<operation_date>2026-11-20T10:15:00+03:00</operation_date>';
const BOX = '<sscc>046012345600000009</sscc>';

/** A pack or two, named after the document; padded where it is to be large. */
function documentXml(id: string, { docType, isLarge }: { docType: number; isLarge: boolean }): Buffer {
  const order = `<order_details>${sgtin(id)}</order_details>`;
  const elements: Record<number, [string, string]> = {
    701: ['accept', `${SUBJECT}<counterparty_id>00000000100931</counterparty_id>${DATE}${order}`],
    911: ['unit_pack', `${SUBJECT}${BOX}${DATE}<content>${sgtin(id)}${sgtin(id, 1)}</content>`],
    912: ['unit_unpack', `${SUBJECT}${DATE}${BOX}<is_recursive>true</is_recursive>`],
    [ENDED_AT_ONCE]: ['withdrawal', `${SUBJECT}${DATE}<withdrawal_type>6</withdrawal_type>${order}`],
  };
  const [element, body] = elements[docType] ?? ['', ''];
  const xml = `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;
  const padding = isLarge ? `<!--${'.'.repeat(LARGE_BYTES + 100 - xml.length)}-->` : '';
  return Buffer.from(xml.replace('</doc', `${padding}</doc`));
}

/** What is not accepted is said why. */
function receiptOf(requestId: string, result: string): Buffer {
  if (result === 'Accepted') return receiptXml(requestId);
  const why =
    '<operation_comment>Not all of it</operation_comment><errors><error_code>12</error_code>' +
    `<error_desc>The item is not yours</error_desc>${sgtin(requestId).replaceAll('sgtin', 'object_id')}</errors>`;
  return Buffer.from(receiptXml(requestId, result).toString().replace('</result>', `${why}</result>`));
}

/** A notification of another participant. */
export const noticeXml = (documentId: string): Buffer =>
  Buffer.from(
    '<documents version="1.38"><accept_notification action_id="607"><subject_id>00000000100931</subject_id>' +
      `<counterparty_id>00000000100930</counterparty_id>${DATE}` +
      `<order_details>${sgtin(documentId)}</order_details></accept_notification></documents>`,
  );
