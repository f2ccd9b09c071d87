import { randomUUID } from 'node:crypto';
import { API_KEY_STREAM, refusalStream } from '#domain';
import { sha256Hex } from '#kernel';
import type { DocumentMetadata, DocumentStatus } from '#registry-client';
import { listTasks } from '../src/inbound/read-list.js';
import { badOutcome } from './fake-registry.js';
import { DOCUMENT_PARTS } from './golden-documents.js';
import { GROUP_PARTS } from './golden-groups.js';
import { ERP, GoldenPast, NAMES, noticeXml, PERSON } from './golden-past.js';
import { ACCOUNTS, type GoldenWorld } from './golden-world.js';

/** Everything that may be under way, and what has ended. The name of each document says where it stands. */
export async function liveThrough(world: GoldenWorld): Promise<GoldenPast> {
  const past = new GoldenPast(world);
  for (const part of [...DOCUMENT_PARTS, ...GROUP_PARTS, accounts, others, left]) {
    await part(past);
  }
  return past;
}

async function accounts(past: GoldenPast): Promise<void> {
  const { context, registry, accounts } = past.world;
  const cause = () => ({ taskKey: randomUUID(), lease: '1:1', actor: PERSON });
  const resume = () => accounts.execute('second', { type: 'Resume', account: 'second' }, cause());
  const certificateSha256 = sha256Hex(Buffer.from('certificate'));
  const valid = { validFrom: '2026-01-01T00:00:00.000Z', validTo: '2027-01-01T00:00:00.000Z' };
  const certificate = { ...valid, thumbprint: 'ab'.repeat(20), certificateSha256, subject: 'CN=second' };
  await accounts.execute('second', { type: 'NoteCertificate', account: 'second', certificate }, cause());
  const { sendDocument } = registry;
  registry.sendDocument = () => Promise.resolve({ ...badOutcome('refused'), text: 'the user is blocked' } as never);
  await past.sent('refusedAccount', { account: 'second' });
  registry.sendDocument = sendDocument;
  await resume();
  await past.ended('throughSecond', 'Accepted', { account: 'second' });
  await context.gates.pause('second', { cause: 'rights', code: 'no', text: 'not yours' }, { taskKey: 'spec' });
  await past.register('paused', { account: 'second' });
  await past.do('send', 'paused');
}

const STATUS_OF: Record<string, DocumentStatus> = {
  unfinished: 'processing',
  failed: 'failed',
  stayedFailed: 'failed',
};

async function others(past: GoldenPast): Promise<void> {
  const { world } = past;
  await world.catchUp();
  const { pool, queue } = world.parts;
  await queue.schedule(pool, ACCOUNTS.flatMap(listTasks));
  const known = ['unfinished', 'processed', 'failed', 'kept', 'stayedFailed', 'withoutBytes', 'linked', 'ours'];
  const entry = (name: string): DocumentMetadata => ({
    documentId: past.idOf(`inbound.${name}`),
    status: STATUS_OF[name] ?? 'processed',
    docType: 607,
    docNum: name,
    requestId: name === 'linked' ? past.idOf('accepted') : name === 'ours' ? past.idOf('recognised') : `r-${name}`,
    receivedAt: '2026-11-20T07:15:00.000Z',
    sender: '00000000100931',
    receiver: '00000000100930',
    fields: {},
  });
  const outgoing = ['kept', 'ours', 'withoutReceipt'];
  for (const name of [...known, 'withoutReceipt', 'concluded']) {
    const { documentId, status } = entry(name);
    world.registry.copies.set(documentId, noticeXml(documentId));
    world.registry.statusOf.set(documentId, status);
    world.listed[outgoing.includes(name) ? 'outgoing' : 'incoming'].push(entry(name));
    await past.do(outgoing.includes(name) ? 'list_outgoing' : 'list_incoming', 'main');
  }
  const inbound = (kind: string, name: string) => past.do(kind, past.idOf(`inbound.${name}`));
  await inbound('inbound_status', 'stayedFailed');
  await inbound('inbound_download', 'kept');
  await past.giveUp('inbound_download', 'inbound.withoutBytes');
  await inbound('inbound_download', 'linked');
  await inbound('inbound_download', 'concluded');
  await inbound('inbound_download', 'withoutReceipt');
  await past.giveUp('inbound_receipt', 'inbound.withoutReceipt');
  world.registry.taken.set(past.idOf('recognised'), [past.idOf('inbound.ours')]);
  await past.sent('recognised');
}

/** What the next version finds just begun, or not begun at all. */
async function left(past: GoldenPast): Promise<void> {
  const { world } = past;
  const { pool } = world.parts;
  const keys = ['used', 'revoked', 'expired', 'adopted'].map((key) => ({
    key,
    keySha256: sha256Hex(Buffer.from(key)),
    roles: ['operator'],
    expiresAt: '2027-01-01T00:00:00.000Z',
  }));
  const [used, revoked, expired, adopted] = keys as [object, object, object, object];
  await past.append(API_KEY_STREAM, [
    { type: 'ApiKeyMade', data: used },
    { type: 'ApiKeyMade', data: revoked },
    { type: 'ApiKeyMade', data: expired },
    { type: 'ApiKeyAdopted', data: { ...adopted, madeAt: '2026-01-01T00:00:00.000Z' } },
    { type: 'ApiKeyFirstUsed', data: { key: 'used', address: '127.0.0.1' } },
    { type: 'ApiKeyRevoked', data: { key: 'revoked' } },
    { type: 'ApiKeyExpired', data: { key: 'expired', expiresAt: '2027-01-01T00:00:00.000Z' } },
    { type: 'ApiKeyConfirmed', data: { key: 'used', restorationId: NAMES } },
  ]);
  await past.append(refusalStream('letter-1'), [
    { type: 'CommandRefused', data: { deadLetterId: 'letter-1', code: 'invalid_command', text: 'no XML' } },
  ]);
  await past.register('lost');
  await pool.query('DELETE FROM task WHERE key LIKE $1', [`send:${past.idOf('lost')}%`]);
  await past.schedule(`replan:${past.idOf('lost')}:0`, 'internal', {
    kind: 'document',
    id: past.idOf('lost'),
    replanId: '0:2026-11-20',
  });
  await past.schedule('retry_parked:document:nothing', 'saga', { saga: 'document', key: 'nothing' });
  await justBegun(past);
  past.show('mayTurn', 'processed');
  past.show('groupMayTurn.0', 'processed');
  world.registry.open.delete(past.documentIdOf('groupMayTurn.1'));
  for (const status of ['uploading', 'processing']) past.show(`sent.${status}`, 'processed');
  world.registry.statusOf.set(past.idOf('inbound.unfinished'), 'processed');
}

/** Each task that tells somebody something is left as it was planned. */
async function justBegun(past: GoldenPast): Promise<void> {
  const { world } = past;
  const pairs = [
    ['receipt', 'endsNow'],
    ['status', 'failsNow'],
  ] as const;
  for (const [kind, name] of pairs) {
    await past.sent(name);
    await past.register(`behind.${name}`, { after: [name] });
    if (kind === 'receipt') await past.do('status', name);
    else past.show(name, 'failed');
  }
  await past.register('sentUnseen');
  await past.registerGroup('groupNotSentNow', 2);
  await past.startable('groupEndsNow', 1);
  await past.do('group_start', 'groupEndsNow');
  await past.do('status', 'groupEndsNow.0');
  await past.doAlone('send', 'groupNotSentNow.0', { send: ['refused'] });
  await world.catchUp();
  await past.doAlone('note_member', 'groupNotSentNow');
  await past.doAlone('receipt', 'groupEndsNow.0');
  for (const [kind, name] of pairs) await past.doAlone(kind, name);
  await asked(past);
  await ahead(past);
}

/** Tasks that ask, or that a person or a list has asked for. */
async function asked(past: GoldenPast): Promise<void> {
  const { world } = past;
  await past.decide('held', 'end', { predecessors: ['refused'] });
  await past.command(
    'behindRefused',
    { registration: await past.registration('behindRefused', { after: ['refused'] }), actor: ERP },
    LEFT,
  );
  await past.doAlone('run_command', 'behindRefused');
  await past.command(
    'groupBehindRefused',
    { group: await past.group('groupBehindRefused', 1, { after: ['refused'] }), actor: ERP },
    LEFT,
  );
  await past.doAlone('run_command', 'groupBehindRefused');
  world.listed.incoming.push({
    documentId: past.idOf('inbound.listed'),
    requestId: 'r-listed',
    status: 'processed',
    fields: {},
  });
  world.registry.copies.set(past.idOf('inbound.listed'), noticeXml(past.idOf('inbound.listed')));
  await past.doAlone('list_incoming', 'main');
  await world.catchUp();
}

/** Commands that are not run, and events that nobody who follows the log has seen. */
async function ahead(past: GoldenPast): Promise<void> {
  const { world } = past;
  await past.command('notRun', { registration: await past.registration('notRun'), actor: ERP }, LEFT);
  await past.command('groupNotRun', { group: await past.group('groupNotRun', 2), actor: ERP, reason: 'given' }, LEFT);
  const resend = await past.registration('resendNotRun', { resendOf: 'rejected' });
  await past.command('resendNotRun', { registration: resend, actor: PERSON, reason: 'again' }, LEFT);
  await past.command('unseenBySaga', { registration: await past.registration('unseenBySaga'), actor: ERP }, LEFT);
  await past.doAlone('run_command', 'unseenBySaga');
  await world.catchUp('read models');
  const unseen = await past.registration('unseen', { after: ['accepted'] });
  await past.command('unseen', { registration: unseen, actor: ERP }, LEFT);
  await past.doAlone('run_command', 'unseen');
  await past.doAlone('send', 'sentUnseen');
}

const LEFT = { isLeft: true };
