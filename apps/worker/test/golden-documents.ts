import { type GoldenPast, LATE_MS } from './golden-past.js';
import { ENDED_AT_ONCE } from './golden-world.js';

async function ends(past: GoldenPast): Promise<void> {
  await past.ended('accepted');
  await past.ended('packed', 'Accepted', { docType: 911 });
  await past.ended('unpacked', 'Accepted', { docType: 912 });
  await past.ended('partial', 'Partial');
  await past.ended('rejected', 'Rejected');
  await past.sent('refused', {}, 'refused');
  await past.failed('failedForGood');
  await past.failed('revised');
  past.show('revised', 'processed');
  await past.do('status', 'revised');
  await past.do('receipt', 'revised');
}

async function waits(past: GoldenPast): Promise<void> {
  await past.register('ready');
  await past.register('behindReady', { after: ['ready', 'accepted'] });
  await past.registerGroup('groupBehindReady', 2, { after: ['ready'] });
  await past.register('held', { after: ['refused'] });
  await past.register('heldByTwo', { after: ['refused', 'rejected'] });
  await past.decide('heldByTwo', 'release', { predecessors: ['refused'] });
  await past.inside();
  await past.registerGroup('groupHeld', 2, { after: ['rejected'] });
  await past.register('waived', { after: ['rejected'] });
  await past.decide('waived', 'release', { predecessors: ['rejected'] });
  await past.registerGroup('groupWaived', 2, { after: ['rejected'] });
  await past.decide('groupWaived', 'release', { predecessors: ['rejected'], isGroup: true });
  await past.register('endedBehind', { after: ['refused'] });
  await past.decide('endedBehind', 'end', { predecessors: ['refused'] });
  await past.register('endedAtOnce', { after: ['refused'], docType: ENDED_AT_ONCE });
  await past.inside();
  await past.failed('mayTurn');
  await past.register('behindMayTurn', { after: ['mayTurn'] });
  await past.registerGroup('groupBehindMayTurn', 1, { after: ['mayTurn'] });
  await past.failed('staysFailed');
  await past.register('behindStaysFailed', { after: ['staysFailed'] });
}

async function sends(past: GoldenPast): Promise<void> {
  const { registry } = past.world;
  const names = ['sending', 'sendingTaken', 'sendingLarge', 'sendingLargeTaken'];
  for (const name of names) {
    await past.register(name, name.includes('Large') ? { large: true } : {});
    const id = past.idOf(name);
    await past.dieAt('send', name, () => {
      if (name === 'sendingTaken') registry.take(id);
      if (name === 'sendingLargeTaken') registry.announce(id);
    });
  }
  for (const large of [undefined, true] as const) {
    const [given, size] = [large === undefined ? {} : { large }, large === undefined ? '' : 'Large'];
    for (const fate of ['unknown_lost', 'unknown_taken'] as const) {
      await past.register(`unconfirmed0${size}.${fate}`, given);
      await past.do(
        'send',
        `unconfirmed0${size}.${fate}`,
        large === undefined ? { send: [fate] } : { announce: [fate] },
      );
    }
    for (const fate of ['unknown_lost', 'unknown_late'] as const) {
      const name = `unconfirmed1${size}.${fate}`;
      await past.register(name, given);
      await past.do('send', name, large === undefined ? { send: [fate] } : { announce: [fate] });
      await past.do('look_up', name);
    }
  }
  for (const name of ['provenAbsent', 'refusedInDoubt', 'acceptedAfterDoubt']) {
    await past.sent(name, {}, 'unknown_lost');
    await past.do('look_up', name);
    await past.do('look_up', name, { laterMs: LATE_MS });
  }
  await past.do('send', 'refusedInDoubt', { send: ['refused'] });
  await past.do('send', 'acceptedAfterDoubt');
  await past.sent('notDelivered', {}, 'rate_limited');
  await past.sent('notDeliveredTwice', {}, 'not_sent');
  await past.do('send', 'notDeliveredTwice', { send: ['not_sent'] });
}

const announcedBy =
  (past: GoldenPast) =>
  async (name: string): Promise<void> => {
    await past.register(name, { large: true });
    await past.do('send', name);
  };

async function uploads(past: GoldenPast): Promise<void> {
  const { registry } = past.world;
  const announced = announcedBy(past);
  await announced('open');
  await announced('partWay');
  await past.do('upload', 'partWay', { part: ['ok', 'ok', 'not_sent'] });
  await past.register('openFound', { large: true });
  await past.do('send', 'openFound', { announce: ['unknown_taken'] });
  await past.do('look_up', 'openFound');
  for (const name of ['finishing', 'finishingTaken']) {
    await announced(name);
    const { evidence } = past.world.parts;
    const { documentSha256 } = await past.registration(name, { large: true });
    const xml = (await evidence.get(documentSha256))?.bytes ?? Buffer.alloc(0);
    await past.dieAt('upload', name, () => name === 'finishingTaken' && registry.finish(past.documentIdOf(name), xml));
  }
  await announced('finishNotDelivered');
  await past.do('upload', 'finishNotDelivered', { finish: ['rate_limited'] });
  for (const fate of ['unknown_lost', 'unknown_taken'] as const) {
    await announced(`doubtful.${fate}`);
    await past.do('upload', `doubtful.${fate}`, { finish: [fate] });
  }
  for (const name of ['seenOpen', 'provenOpen', 'seenOpenLate']) {
    await announced(name);
    await past.do('upload', name, { finish: [name === 'seenOpenLate' ? 'unknown_late' : 'unknown_lost'] });
    await past.do('look_up', name);
  }
  await past.do('look_up', 'provenOpen', { laterMs: LATE_MS });
  await announced('missed');
  await past.do('upload', 'missed', { finish: ['unknown_lost'] });
  registry.open.delete(past.documentIdOf('missed'));
  registry.taken.delete(past.idOf('missed'));
  await past.do('look_up', 'missed');
  await announced('largeAccepted');
  await past.do('upload', 'largeAccepted');
  await past.end('largeAccepted');
}

async function refusedUploads(past: GoldenPast): Promise<void> {
  const announced = announcedBy(past);
  for (const name of ['refusedOnce', 'refusedAndOpen', 'refusedTwice', 'refusedMaybeFinished', 'uploadRefused']) {
    await announced(name);
    if (name === 'refusedMaybeFinished') {
      await past.do('upload', name, { finish: ['unknown_lost'] });
      await past.do('look_up', name);
      await past.do('look_up', name, { laterMs: LATE_MS });
    }
    await past.do('upload', name, { finish: ['refused'] });
    if (name === 'refusedOnce' || name === 'refusedMaybeFinished') continue;
    await past.do('look_up', name);
    if (name === 'refusedAndOpen') continue;
    await past.do('upload', name, { part: ['refused'] });
  }
  await past.do('look_up', 'uploadRefused');
  await past.do('upload', 'uploadRefused', { finish: ['refused'] });
}

async function statuses(past: GoldenPast): Promise<void> {
  const { registry } = past.world;
  await past.sent('sent');
  for (const status of ['uploading', 'processing', 'processed', 'failed_result_ready'] as const) {
    await past.sent(`sent.${status}`);
    past.show(`sent.${status}`, status);
    await past.do('status', `sent.${status}`);
  }
  past.says('sent.failed_result_ready', 'Rejected');
  await past.sent('found', {}, 'unknown_taken');
  await past.do('look_up', 'found');
  await past.sent('foundProcessed', {}, 'unknown_taken');
  await past.do('look_up', 'foundProcessed');
  await past.do('status', 'foundProcessed');
  await past.sent('foundDownloaded', {}, 'unknown_taken');
  await past.do('look_up', 'foundDownloaded');
  await past.do('status', 'foundDownloaded');
  await past.do('download', 'foundDownloaded');
  await past.sent('twice', {}, 'unknown_taken');
  registry.take(past.idOf('twice'));
  await past.do('look_up', 'twice');
}

/** What documents can go through, a part after another. */
export const DOCUMENT_PARTS = [ends, waits, sends, uploads, refusedUploads, statuses];
