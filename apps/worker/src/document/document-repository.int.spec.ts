import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { documentStream, type DocumentCommand, type StatusObserved } from '#domain';
import { uuid5 } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { eventStoreServer } from '../../../../test/support/event-store-server.js';
import { eventsOf, registerDocument, repositoryOn, stateIn, storesForSpec } from '../../test/test-harness.js';
import type { Cause } from '../aggregate/aggregate-repository.js';
import { DocumentRepository } from './document-repository.js';

const SHA = 'a'.repeat(64);
const BEGIN: DocumentCommand = { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA };
const SENT: DocumentCommand = {
  type: 'RecordSendAnswer',
  attempt: 1,
  answer: { kind: 'sent', documentId: 'd-1', answerSha256: SHA },
};
const UNCONFIRMED: DocumentCommand = {
  type: 'RecordSendAnswer',
  attempt: 1,
  answer: { kind: 'unconfirmed', reason: 'the process ended' },
};

/** A cause under a lease: each run of a task has another one. */
const by = (taskKey: string, lease = '1:1'): Cause => ({
  taskKey,
  lease,
  actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
});

const server = await eventStoreServer();

describe.each([
  ['PostgreSQL', undefined],
  [`EventStoreDB, ${server.name}`, server.start],
] as const)('with the log in %s', (_, logServer) => {
  const stores = storesForSpec({ testDatabase, logServer, beforeAll, afterAll });

  const registered = async (): Promise<string> => (await registerDocument(stores)).requestId;
  const statusesOf = async (requestId: string): Promise<string[]> =>
    (await eventsOf(stores.store, requestId)).flatMap((event) =>
      event.type === 'StatusObserved' ? [(event as StatusObserved).data.status] : [],
    );
  const typesOf = async (requestId: string): Promise<string[]> =>
    (await eventsOf(stores.store, requestId)).map((event) => event.type);

  describe('one document in two processes', () => {
    it('lets one of two different tasks through; the other decides anew on what it then reads', async () => {
      const requestId = await registered();
      const [a, b] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      await Promise.all([a.state(requestId), b.state(requestId)]);
      const results = await Promise.all([
        a.execute(requestId, BEGIN, by('one')),
        b.execute(requestId, BEGIN, by('other')),
      ]);
      expect(results.map((one) => one.events.length).sort()).toEqual([0, 1]);
      expect(results.map((one) => one.state.phase)).toEqual(['sending', 'sending']);
      expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted']);
    });

    it('does not take the intent of another process for its own, when both run the same task', async () => {
      const requestId = await registered();
      const [first, second] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      // The second remembers the document as ready to be sent; its lease on the task comes after the first's ran out.
      expect((await second.state(requestId)).phase).toBe('ready');
      expect((await first.execute(requestId, BEGIN, by('send:1', '1:1'))).events).toHaveLength(1);
      expect(await second.execute(requestId, BEGIN, by('send:1', '1:2'))).toMatchObject({
        events: [],
        state: { phase: 'sending', send: { attempt: 1 } },
      });
    });

    it('remembers what the log holds, not what it would have written, when the same task wrote something else first', async () => {
      const requestId = await registered();
      const [first, second] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      await first.execute(requestId, BEGIN, by('send:1'));
      expect((await second.state(requestId)).phase).toBe('sending');
      // The answer came after all, just before the second process gave it up.
      await first.execute(requestId, SENT, by('send:1'));
      expect(await second.execute(requestId, UNCONFIRMED, by('send:1', '1:2'))).toMatchObject({
        events: [],
        state: { phase: 'sent', documentId: 'd-1' },
      });
      const observed = await second.execute(
        requestId,
        { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
        by('status:1'),
      );
      expect(observed.events.map((one) => one.type)).toEqual(['StatusObserved']);
      expect(await typesOf(requestId)).toEqual([
        'DocumentRegistered',
        'SendAttempted',
        'DocumentSent',
        'StatusObserved',
      ]);
    });

    it(
      'hears what another run of a task has to say at the same place, on older memory: the registry was slower ' +
        'than the first poll',
      async () => {
        const requestId = await registered();
        const [a, b] = [repositoryOn(stores.store), repositoryOn(stores.store)];
        await b.execute(requestId, BEGIN, by('send:1'));
        await b.execute(requestId, SENT, by('send:1'));
        // Process a polls first. Process b, which sent the document, then polls the same task; it remembers nothing of
        // the first answer.
        await a.execute(
          requestId,
          { type: 'ObserveStatus', status: 'processing', answerSha256: SHA },
          by('status:1', '2:1'),
        );
        const second = await b.execute(
          requestId,
          { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
          by('status:1', '2:2'),
        );
        expect(second).toMatchObject({
          events: [{ type: 'StatusObserved', data: { status: 'processed' } }],
          state: { phase: 'sent', status: 'processed' },
        });
        expect(await statusesOf(requestId)).toEqual(['processing', 'processed']);
      },
    );

    it.each([
      ['another lease', 'processing', '2:2'],
      ['other data under the same lease', 'processed', '2:1'],
    ])('takes no append for a repeat that differs by %s', async (_, status, lease) => {
      const requestId = await registered();
      const [a, b] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      await b.execute(requestId, BEGIN, by('send:1'));
      await b.execute(requestId, SENT, by('send:1'));
      const { append } = stores.store;
      const results: unknown[] = [];
      const spy = jest.spyOn(stores.store, 'append').mockImplementation(async (...args) => {
        const result = await append.apply(stores.store, args);
        results.push(result.kind);
        return result;
      });
      await a.execute(
        requestId,
        { type: 'ObserveStatus', status: 'processing', answerSha256: SHA },
        by('status:1', '2:1'),
      );
      await b.execute(
        requestId,
        { type: 'ObserveStatus', status: status as 'processing', answerSha256: SHA },
        by('status:1', lease),
      );
      spy.mockRestore();
      expect(results.slice(0, 2)).toEqual(['appended', 'conflict']);
    });

    it('finds a task of the version before that runs again in conflict, and has nothing new to say', async () => {
      const requestId = await registered();
      const [old, upgraded] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      await upgraded.state(requestId);
      // As the version before derived its ids: from task key, stream, version and type alone.
      const { append } = stores.store;
      const spy = jest.spyOn(stores.store, 'append').mockImplementation((stream, version, events) => {
        const named = events.map((event, n) => ({
          ...event,
          id: uuid5(`send:1@${stream}@${Number(version) + 1 + n}/${event.type}`, randomUUID()),
        }));
        return append.call(stores.store, stream, version, named);
      });
      await old.execute(requestId, BEGIN, by('send:1'));
      spy.mockRestore();
      expect(await upgraded.execute(requestId, BEGIN, by('send:1'))).toMatchObject({
        events: [],
        state: { phase: 'sending', send: { attempt: 1 } },
      });
      expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted']);
    });

    it('pays for stale memory with a second read, never with a wrong event', async () => {
      const requestId = await registered();
      const [stale, other] = [repositoryOn(stores.store), repositoryOn(stores.store)];
      await stale.state(requestId);
      await other.execute(requestId, BEGIN, by('send:1'));
      await other.execute(requestId, SENT, by('send:1'));
      const { events } = await stale.execute(
        requestId,
        { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
        by('status:1'),
      );
      // On what it remembered there was nothing to observe: it was not even sent.
      expect(events.map((one) => one.type)).toEqual(['StatusObserved']);
    });
  });

  describe('two documents to which one task speaks', () => {
    it('have events of different ids, for outcomes and proofs go by them', async () => {
      const requestIds = [await registered(), await registered()];
      const repository = repositoryOn(stores.store);
      for (const requestId of requestIds) await repository.execute(requestId, BEGIN, by('conclude_members:g'));
      const ids = (
        await Promise.all(requestIds.map((requestId) => stores.store.readStream(documentStream(requestId))))
      ).map((events) => events.at(-1)?.id);
      expect(new Set(ids).size).toBe(2);
    });
  });

  describe('one document in one process', () => {
    it('comes into being without a look at the log, which says where it was there already', async () => {
      const readStream = jest.spyOn(stores.store, 'readStream');
      const registration = await registerDocument(stores);
      expect(readStream).not.toHaveBeenCalled();
      readStream.mockRestore();
      const { requestId } = registration;
      await repositoryOn(stores.store).execute(requestId, BEGIN, by('send:1'));
      for (const task of [`run_command:${requestId}`, 'another task']) {
        expect(
          await repositoryOn(stores.store).execute(requestId, { type: 'Register', registration }, by(task, '1:2')),
        ).toMatchObject({ events: [], state: { phase: 'sending' } });
      }
      expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted']);
    });

    it('answers from memory what it decided itself, and the same from the log after a restart', async () => {
      const requestId = await registered();
      const readStream = jest.spyOn(stores.store, 'readStream');
      const repository = repositoryOn(stores.store);
      await repository.execute(requestId, BEGIN, by('send:1'));
      const remembered = await repository.state(requestId);
      expect(readStream.mock.calls.filter(([stream]) => stream.endsWith(requestId))).toHaveLength(1);
      readStream.mockRestore();
      expect(await repositoryOn(stores.store).state(requestId)).toEqual(remembered);
      expect(await stateIn(stores.store, requestId)).toEqual(remembered);
    });

    it('forgets the oldest beyond its limit, and nothing is lost by it', async () => {
      const requestIds = await Promise.all(Array.from({ length: 5 }, registered));
      const installation = { id: randomUUID(), participant: 'own', softwareVersion: 'test', profile: 'interface-v1' };
      const repository = new DocumentRepository({
        store: stores.store,
        clock: { now: () => new Date(0), monotonicMs: () => 0, wait: () => Promise.resolve() },
        installation,
        maxRemembered: 2,
      });
      for (const requestId of requestIds) await repository.execute(requestId, BEGIN, by(`send:${requestId}`));
      for (const requestId of requestIds) expect((await repository.state(requestId)).phase).toBe('sending');
    });

    it('is done with a command that says nothing new, and writes nothing', async () => {
      const requestId = await registered();
      const repository = repositoryOn(stores.store);
      await repository.execute(requestId, BEGIN, by('send:1'));
      await repository.execute(requestId, SENT, by('send:1'));
      expect((await repository.execute(requestId, SENT, by('send:1'))).events).toEqual([]);
      expect(await typesOf(requestId)).toHaveLength(3);
    });

    it('goes on after an append that was made and reported as failed, without writing it twice', async () => {
      const requestId = await registered();
      let lost = false;
      const store = new Proxy(stores.store, {
        get: (target, name, receiver) => {
          if (name !== 'append' || lost) return Reflect.get(target, name, receiver) as unknown;
          return async (...args: Parameters<typeof target.append>) => {
            lost = true;
            await target.append(...args);
            throw new Error('the connection was lost');
          };
        },
      });
      const repository = repositoryOn(store);
      await expect(repository.execute(requestId, BEGIN, by('send:1'))).rejects.toThrow('the connection was lost');
      // The task comes again under another lease: what the first run did after its append is not known, so the intent
      // is not this run's own.
      expect(await repository.execute(requestId, BEGIN, by('send:1', '1:2'))).toMatchObject({
        events: [],
        state: { phase: 'sending' },
      });
      expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted']);
    });

    it('stops after five conflicts in a row instead of running on', async () => {
      const requestId = await registered();
      let appends = 0;
      const store = new Proxy(stores.store, {
        get: (target, name, receiver) => {
          if (name !== 'append') return Reflect.get(target, name, receiver) as unknown;
          return () => Promise.resolve({ kind: 'conflict', actualVersion: (appends += 1) });
        },
      });
      await expect(repositoryOn(store).execute(requestId, BEGIN, by('send:1'))).rejects.toThrow(/5 version conflicts/);
      expect(appends).toBe(5);
    });
  });
});
