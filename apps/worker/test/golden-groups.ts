import { type GoldenPast, LATE_MS } from './golden-past.js';

async function groups(past: GoldenPast): Promise<void> {
  const { registry } = past.world;
  await past.registerGroup('groupSending0', 2);
  await past.registerGroup('groupSending1', 2);
  await past.sendMembers('groupSending1', 1);
  await past.registerGroup('groupChecking', 2);
  await past.sendMembers('groupChecking', 2);
  await past.registerGroup('groupDenied', 2);
  await past.sendMembers('groupDenied', 2);
  await denied(past, 'groupDenied', 1);
  await past.startable('groupStartable', 2);
  for (const name of ['groupStarting', 'groupStartingTaken']) {
    await past.startable(name, 2);
    const members = [0, 1].map((i) => past.documentIdOf(`${name}.${i}`));
    await past.dieAt('group_start', name, () => {
      if (name === 'groupStartingTaken') for (const one of members) registry.open.delete(one);
    });
  }
  for (const fate of ['unknown_lost', 'unknown_taken', 'rate_limited'] as const) {
    await past.startable(`groupStart.${fate}`, 2);
    await past.do('group_start', `groupStart.${fate}`, { start: [fate] });
  }
  for (const name of ['groupNotSeen', 'groupNotSeenLate', 'groupProvenAbsent']) {
    await past.startable(name, 2);
    await past.do('group_start', name, { start: [name === 'groupNotSeenLate' ? 'unknown_late' : 'unknown_lost'] });
    await past.do('group_look', name);
  }
  await past.do('group_look', 'groupProvenAbsent', { laterMs: LATE_MS });
  await past.started('groupStarted', 2);
  await past.started('groupHalfEnded', 2, { kind: 'split' });
  await past.end('groupHalfEnded.0');
  await past.started('groupAccepted', 2);
  await past.end('groupAccepted.0');
  await past.end('groupAccepted.1');
  await past.registerGroup('groupLarge', 2, { large: true });
  await past.do('send', 'groupLarge.0');
  await past.do('upload', 'groupLarge.0', { finish: ['unknown_lost'] });
}

/** The registry says no to the check, so often. */
async function denied(past: GoldenPast, name: string, times: number): Promise<void> {
  const { taken } = past.world.registry;
  const id = past.idOf(`${name}.1`);
  const documentIds = taken.get(id) as string[];
  taken.delete(id);
  for (let check = 0; check < times; check += 1) await past.do('group_check', name);
  taken.set(id, documentIds);
}

async function halts(past: GoldenPast): Promise<void> {
  await past.started('groupRejected', 3);
  await past.end('groupRejected.0');
  await past.end('groupRejected.1', 'Rejected');
  past.world.registry.open.add(past.documentIdOf('groupRejected.2'));
  for (const name of ['groupFailed', 'groupMayTurn', 'groupLifted', 'groupRevised']) {
    await past.started(name, 2);
    past.show(`${name}.0`, 'failed');
    await past.do('status', `${name}.0`);
    if (name === 'groupLifted') await past.end(`${name}.0`);
    else past.world.registry.open.add(past.documentIdOf(`${name}.1`));
  }
  await past.do('settle_group', 'groupRevised');
  await past.end('groupRevised.0');
  await past.registerGroup('groupNotSent', 2);
  await past.do('send', 'groupNotSent.0', { send: ['refused'] });
  await past.startable('groupStartRefused', 2);
  await past.do('group_start', 'groupStartRefused', { start: ['refused'] });
  await past.registerGroup('groupCheckRefused', 2);
  await past.sendMembers('groupCheckRefused', 2);
  await denied(past, 'groupCheckRefused', 5);
  await past.registerGroup('groupEndedBehind', 2, { after: ['rejected'] });
  await past.decide('groupEndedBehind', 'end', { predecessors: ['rejected'], isGroup: true });
  await past.inside();
  past.show('groupMayTurn.0', 'processed');
}

async function resends(past: GoldenPast): Promise<void> {
  await past.register('behindResent', { after: ['resent'] });
  await past.ended('resent', 'Rejected');
  await past.register('resend', { resendOf: 'resent' });
  await past.ended('resentWell', 'Rejected');
  await past.register('behindResentWell', { after: ['resentWell'] });
  await past.inside();
  await past.ended('resendWell', 'Accepted', { resendOf: 'resentWell' });
  await past.started('groupResumed', 3);
  await past.register('behindGroupResumed', { after: ['groupResumed'] });
  past.world.registry.open.add(past.documentIdOf('groupResumed.2'));
  await past.end('groupResumed.0');
  await past.end('groupResumed.1', 'Rejected');
  await past.do('settle_group', 'groupResumed');
  await past.startable('resumption', 2, {
    kind: 'resumption',
    resumes: { group: 'groupResumed', members: ['groupResumed.1', 'groupResumed.2'] },
  });
}

/** What groups can go through, and what is sent again. */
export const GROUP_PARTS = [groups, halts, resends];
