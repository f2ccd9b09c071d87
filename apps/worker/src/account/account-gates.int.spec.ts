import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { accountStream, type AccountEvent } from '#domain';
import { defined, PedigreeError, VirtualClock } from '#kernel';
import { certificateFacts, openSigner, readAccounts, type CallOutcome, type DocumentToSend } from '#registry-client';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeGroups } from '../../test/fake-groups.js';
import { FakeRegistry, rawOf } from '../../test/fake-registry.js';
import { FakeUploads } from '../../test/fake-uploads.js';
import {
  acceptGroup,
  ACCOUNT,
  asTask,
  eventsOf,
  groupStateIn,
  newestTask,
  processOn,
  registerDocument,
  runTask,
  SMALL_LIMITS,
  stateIn,
  storesForSpec,
  workOff,
  type Stores,
} from '../../test/test-harness.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { Lane } from '../lane.js';
import { lanesOf } from '../lanes.js';
import type { TaskContext } from '../registry-tasks/context.js';

/** One account in all these tests, so each has a database of its own. */
const databases = Array.from({ length: 14 }, () => storesForSpec({ testDatabase, beforeAll, afterAll }));
const freshStores = (): Stores => databases.pop() as Stores;

const NO: CallOutcome<never> = {
  kind: 'refused',
  code: 'http_400',
  text: 'the signature value does not verify',
  raw: rawOf('{"error_description":"the signature value does not verify"}', 400),
};
const NO_RIGHT: CallOutcome<never> = {
  kind: 'refused',
  code: '403',
  text: 'the user has no right',
  raw: rawOf('{"error_description":"the user has no right"}', 403),
};
/** What a proxy says before the registry. */
const PAGE: CallOutcome<never> = {
  kind: 'refused',
  code: 'http_403',
  text: 'Forbidden',
  raw: { ...rawOf('<html><title>Forbidden</title></html>', 403), contentType: 'text/html' },
  mayBeOthers: true,
};
const [mainAccount] = readAccounts(new URL('../../../sandbox/data/accounts.json', import.meta.url).pathname);
const DER = openSigner(mainAccount as NonNullable<typeof mainAccount>)?.certificate() as Buffer;
const { validFrom, validTo, thumbprint } = certificateFacts(DER);

/** Refuses the account for as long as it is told to. */
class RefusingRegistry extends FakeRegistry {
  refuses = false;
  /** So many sends are answered by a server before it. */
  pages = 0;

  override async sendDocument(account: string, document: DocumentToSend): Promise<CallOutcome<{ documentId: string }>> {
    if (this.pages > 0) {
      this.pages -= 1;
      return PAGE;
    }
    if (!this.refuses) return super.sendDocument(account, document);
    this.calls.push('sendDocument');
    return NO;
  }
}

/** Resumed as soon as it was paused: only what became of document and group is looked at. */
const resumedAtOnce = (context: TaskContext): TaskContext => ({
  ...context,
  gates: {
    ...context.gates,
    isPaused: () => Promise.resolve(false),
    isHeld: () => Promise.resolve(false),
    pause: context.gates.pause.bind(context.gates),
  } as TaskContext['gates'],
});

const accountEvents = async (stores: Stores): Promise<AccountEvent[]> =>
  (await stores.store.readStream(accountStream(ACCOUNT))) as unknown as AccountEvent[];
const accountTypes = async (stores: Stores): Promise<string[]> =>
  (await accountEvents(stores)).map((event) => event.type);
const typesOf = async (stores: Stores, requestId: string): Promise<string[]> =>
  (await eventsOf(stores.store, requestId)).map((event) => event.type);
const newest = (stores: Stores, requestId: string) => newestTask(stores.store, requestId, 'send');

/** What the gateway does, when an operator says so. */
async function resume(stores: Stores): Promise<void> {
  const metadata = {
    participant: 'own',
    actor: { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const,
    reason: 'mended',
    softwareVersion: 'test',
    profile: 'p',
    effectiveAt: new Date(0).toISOString(),
    correlationId: ACCOUNT,
    causationId: 'test',
  };
  await stores.store.append(accountStream(ACCOUNT), 'any', [
    { id: randomUUID(), type: 'AccountResumed', schemaVersion: 1, data: { account: ACCOUNT }, metadata },
  ]);
}

const groupCheck = (groupId: string) =>
  asTask({
    key: `group_check:${groupId}:1`,
    kind: 'group_check',
    lane: `${ACCOUNT}/group_check`,
    dueAt: new Date(0),
    payload: { groupId, account: ACCOUNT },
  });

const heldAmong = async (lanes: Lane[]): Promise<string[]> => {
  const held = await Promise.all(lanes.map(async (lane) => (await lane.held?.()) === true));
  return lanes.filter((_, n) => held[n]).map((lane) => lane.name.replace(`${ACCOUNT}/`, ''));
};

describe('a refusal of the account', () => {
  it('leaves the document ready, pauses the account, and holds exactly the lanes by which something leaves', async () => {
    const stores = freshStores();
    const registry = new RefusingRegistry();
    registry.refuses = true;
    const clock = new VirtualClock();
    const context = processOn({ ...stores, registry, clock });
    const lanes = lanesOf(context, [ACCOUNT]);
    const { requestId } = await registerDocument(stores);
    expect(await heldAmong(lanes)).toEqual([]);
    expect(await runTask(context, await newest(stores, requestId))).toEqual({ kind: 'done' });
    expect(await typesOf(stores, requestId)).toEqual(['DocumentRegistered', 'SendAttempted', 'SendNotDelivered']);
    expect(await accountEvents(stores)).toMatchObject([
      {
        type: 'AccountPaused',
        data: {
          cause: 'signature',
          code: 'http_400',
          text: 'the signature value does not verify',
          requestId,
          answerSha256: expect.any(String),
        },
      },
    ]);
    expect(await heldAmong(lanes)).toEqual(['send', 'upload', 'group_check', 'group_start']);
    // What was claimed before the pause is given back untried.
    expect(await runTask(context, await newest(stores, requestId))).toMatchObject({ kind: 'give_back' });
    expect(registry.calls).toEqual(['sendDocument']);

    registry.refuses = false;
    await resume(stores);
    clock.advance(500);
    expect(await heldAmong(lanes)).toEqual([]);
    expect(
      await workOff(
        { context: () => context, thrown: (error) => expect(error).toBeUndefined(), clock, store: stores.store },
        requestId,
      ),
    ).toEqual([]);
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    expect(registry.taken.get(requestId)).toHaveLength(1);
  });

  it('is heard by another process within half a second, and so is the resumption', async () => {
    const stores = freshStores();
    const registry = new RefusingRegistry();
    registry.refuses = true;
    const clock = new VirtualClock();
    const [here, there] = [processOn({ ...stores, registry, clock }), processOn({ ...stores, registry, clock })];
    expect(await there.gates.isPaused(ACCOUNT)).toBe(false);
    const { requestId } = await registerDocument(stores);
    await runTask(here, await newest(stores, requestId));
    clock.advance(500);
    expect([await here.gates.isPaused(ACCOUNT), await there.gates.isPaused(ACCOUNT)]).toEqual([true, true]);
    expect(there.gates.pausedAccounts()).toMatchObject([{ account: ACCOUNT, cause: 'signature' }]);
    await resume(stores);
    clock.advance(500);
    expect([await here.gates.isPaused(ACCOUNT), await there.gates.isPaused(ACCOUNT)]).toEqual([false, false]);
    expect([...here.gates.pausedAccounts(), ...there.gates.pausedAccounts()]).toEqual([]);
  });

  it('leaves an open attempt to be looked up: its run is given up while the account is paused', async () => {
    const stores = freshStores();
    const registry = new RefusingRegistry();
    const context = processOn({ ...stores, registry, clock: new VirtualClock() });
    const { requestId } = await registerDocument(stores);
    const task = await newest(stores, requestId);
    await context.documents.execute(
      requestId,
      { type: 'BeginSend' },
      { taskKey: 'a run that died', lease: '1:1', actor: { kind: 'system', name: 'test', authenticatedBy: 'test' } },
    );
    await context.gates.pause(ACCOUNT, { cause: 'rights', code: '403', text: 'no' }, { taskKey: 'test' });
    expect(await runTask(context, { ...task, attempts: 2, leaseExpiredBefore: true })).toEqual({ kind: 'done' });
    expect((await typesOf(stores, requestId)).at(-1)).toBe('SendUnconfirmed');
  });

  it.each([
    ['that ends, pauses nothing', 3, []],
    ['that stays, pauses the account, and fails no document', 4, ['AccountPaused']],
  ])('by a page of a server before the registry %s', async (_, pages, expected) => {
    const stores = freshStores();
    const registry = new RefusingRegistry();
    registry.pages = pages;
    const clock = new VirtualClock();
    const context = processOn({ ...stores, registry, clock });
    const { requestId } = await registerDocument(stores);
    const thrown = (error: Error): void => expect(error).toBeUndefined();
    const work = () => workOff({ context: () => context, thrown, clock, store: stores.store }, requestId);
    const isPaused = expected.length > 0;
    if (isPaused) await expect(work()).rejects.toThrow('is not finished');
    else await work();
    expect(await accountTypes(stores)).toEqual(expected);
    if (isPaused) {
      expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'ready' });
      await resume(stores);
      clock.advance(500);
      await work();
    }
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    expect(registry.taken.get(requestId)).toHaveLength(1);
  });

  it.each<[string, CallOutcome<never>, number]>([
    ['in its own words', NO_RIGHT, 0],
    ['by a page of a server before it that stays', PAGE, 3],
  ])('of a part of an upload, %s, pauses the account, and fails no document', async (_, answer, doubted) => {
    const stores = freshStores();
    const registry = new FakeRegistry();
    const uploads = new FakeUploads(registry);
    const refusals = Array.from({ length: doubted + 1 }, () => answer);
    const largeDocuments = {
      step: async (...[account, document, at]: Parameters<FakeUploads['step']>) =>
        (at.next === 'upload' ? refusals.shift() : undefined) ?? uploads.step(account, document, at),
    };
    const clock = new VirtualClock();
    const context = processOn({ ...stores, registry, clock, largeDocuments, profile: SMALL_LIMITS });
    const { requestId } = await registerDocument(stores);
    const thrown = (error: Error): void => expect(error).toBeUndefined();
    const work = () => workOff({ context: () => context, thrown, clock, store: stores.store }, requestId);
    await expect(work()).rejects.toThrow('is not finished');
    expect(await accountEvents(stores)).toMatchObject([
      { type: 'AccountPaused', data: { cause: 'rights', requestId } },
    ]);
    expect((await typesOf(stores, requestId)).filter((type) => type === 'UploadRefused')).toHaveLength(doubted);
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'uploading' });
    await resume(stores);
    clock.advance(500);
    await work();
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    expect(registry.taken.get(requestId)).toHaveLength(1);
  });

  it('of the end of an upload, or of a group, ends neither', async () => {
    const stores = freshStores();
    const registry = new FakeRegistry();
    const clock = new VirtualClock();
    const run = (context: TaskContext) => ({
      context: () => context,
      thrown: (error: Error) => expect(error).toBeUndefined(),
      clock,
      store: stores.store,
    });
    const uploads = new FakeUploads(registry);
    const once = (): CallOutcome<never>[] => [NO_RIGHT];
    const [ends, checks, starts] = [once(), once(), once()] as const;
    const largeDocuments = {
      step: async (...[account, document, at]: Parameters<FakeUploads['step']>) =>
        (at.next === 'finish' ? ends.shift() : undefined) ?? uploads.step(account, document, at),
    };
    const fakeGroups = new FakeGroups(registry);
    const bulk: TaskContext['bulk'] = {
      check: async (...args) => checks.shift() ?? fakeGroups.check(...args),
      start: async (account, ids) => starts.shift() ?? fakeGroups.start(account, ids),
    };
    const { requestId } = await registerDocument(stores);
    await workOff(
      run(resumedAtOnce(processOn({ ...stores, registry, clock, largeDocuments, profile: SMALL_LIMITS }))),
      requestId,
    );
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    expect(await accountEvents(stores)).toMatchObject([
      { type: 'AccountPaused', data: { cause: 'rights', requestId } },
    ]);

    const { group, command } = await acceptGroup(stores, 2);
    const context = resumedAtOnce(processOn({ ...stores, registry, clock, bulk }));
    await runTask(context, command);
    await workOff(run(context), group);
    expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({ phase: 'concluded' });
    expect(fakeGroups.started).toEqual([group.members.map((one) => one.requestId)]);
    expect([ends, checks, starts]).toEqual([[], [], []]);
  });

  it('for one group alone pauses it once: after a resumption the same answer is the group’s own', async () => {
    const stores = freshStores();
    const registry = new FakeRegistry();
    const clock = new VirtualClock();
    const refused = { kind: 'refused', code: 'http_403', text: 'not your place', raw: rawOf('{}', 403) } as const;
    const bulk = { check: () => Promise.resolve(refused), start: () => Promise.reject(new Error('it was denied')) };
    const context = processOn({ ...stores, registry, clock, bulk });
    const { group, command } = await acceptGroup(stores, 2);
    await runTask(context, command);
    const cause = { taskKey: 'test', lease: '1:1', actor: SYSTEM };
    for (const { requestId } of group.members) {
      const sent = { type: 'NoteMemberSent', requestId, documentId: registry.take(requestId) } as const;
      await context.groups.execute(group.groupId, sent, cause);
    }
    for (let checks = 0; checks < 8; checks += 1) {
      await runTask(context, groupCheck(group.groupId));
      if (await context.gates.isPaused(ACCOUNT)) await resume(stores);
      clock.advance(3_000);
    }
    expect(await accountTypes(stores)).toEqual(['AccountPaused', 'AccountResumed']);
    expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({
      phase: 'halted',
      halt: { cause: 'check_denied' },
    });
  });
});

describe('a certificate', () => {
  const startAt = async (now: Date, userId: string | undefined = undefined) => {
    const stores = freshStores();
    const registry = new FakeRegistry();
    const clock = new VirtualClock(now);
    const parts = { ...stores, registry, clock, certificate: () => DER, ...defined({ userId }) };
    return { stores, registry, clock, context: processOn(parts), another: () => processOn(parts) };
  };

  it.each([
    ['has ended', validTo, undefined, 'certificate_ended'],
    ['is not valid yet', new Date(validFrom.getTime() - 1_000), undefined, 'certificate_not_yet_valid'],
    ['is not that of the configured user', validFrom, 'ab'.repeat(20), 'certificate_of_another'],
  ])('that %s pauses its account at the start, before anything is sent', async (_what, now, userId, code) => {
    const { stores, registry, context } = await startAt(now, userId);
    const { requestId } = await registerDocument(stores);
    expect(await runTask(context, await newest(stores, requestId))).toMatchObject({ kind: 'give_back' });
    expect(registry.calls).toEqual([]);
    expect(await accountEvents(stores)).toMatchObject([
      { type: 'AccountCertificateSeen', data: { thumbprint } },
      { type: 'AccountPaused', data: { cause: 'certificate', code, thumbprint } },
    ]);
  });

  it('ends while the worker runs: from that moment on nothing is sent, and a person may let it pass once for good', async () => {
    const { stores, clock, context, another } = await startAt(new Date(validTo.getTime() - 1_000), thumbprint);
    expect(await context.gates.isPaused(ACCOUNT)).toBe(false);
    clock.advance(1_000);
    expect(await context.gates.isPaused(ACCOUNT)).toBe(true);
    await resume(stores);
    clock.advance(500);
    expect([await context.gates.isPaused(ACCOUNT), await another().gates.isPaused(ACCOUNT)]).toEqual([false, false]);
    expect(await accountTypes(stores)).toEqual(['AccountCertificateSeen', 'AccountPaused', 'AccountResumed']);
  });
});

describe('a signer', () => {
  it(
    'that does not sign is left alone by all documents of its account; one that signs with another certificate is ' +
      'for a person',
    async () => {
      const stores = freshStores();
      const registry = new FakeRegistry();
      const clock = new VirtualClock();
      const context = processOn({ ...stores, registry, clock });
      const lanes = lanesOf(context, [ACCOUNT]);
      registry.sign = () =>
        Promise.reject(new PedigreeError('signing_failed', 'the service is away', { item: ACCOUNT }));
      const { requestId } = await registerDocument(stores);
      await runTask(context, await newest(stores, requestId));
      expect(await heldAmong(lanes)).toEqual(['send']);
      clock.advance(10_000);
      expect(await heldAmong(lanes)).toEqual([]);
      registry.sign = () =>
        Promise.reject(
          new PedigreeError('signing_failed', 'it was made with another certificate', {
            item: ACCOUNT,
            field: 'certificate',
          }),
        );
      await runTask(context, await newest(stores, requestId));
      expect(await accountEvents(stores)).toMatchObject([
        { type: 'AccountPaused', data: { cause: 'certificate', code: 'signed_by_another' } },
      ]);
      expect(await typesOf(stores, requestId)).toEqual(['DocumentRegistered']);
    },
  );
});
