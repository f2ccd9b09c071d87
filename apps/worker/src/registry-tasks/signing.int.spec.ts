import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SendAttempted } from '#domain';
import { PedigreeError, VirtualClock } from '#kernel';
import type { DocumentToSend } from '#registry-client';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  asTask,
  eventsOf,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  storesForSpec,
  workOff,
} from '../../test/test-harness.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

/** Signs as it is told: an Error is thrown, undefined is an account without a signature. */
class SigningRegistry extends FakeRegistry {
  readonly sent: DocumentToSend[] = [];
  certificate: Buffer | undefined = Buffer.from('certificate one');

  constructor(private readonly signatures: (Buffer | undefined | Error)[]) {
    super();
    this.beforeSend = (document) => Promise.resolve(void this.sent.push(document));
  }

  override sign(): Promise<Buffer> {
    const next = this.signatures.shift();
    return next instanceof Error ? Promise.reject(next) : (Promise.resolve(next) as Promise<Buffer>);
  }

  override signerCertificate(): Buffer {
    return this.certificate as Buffer;
  }

  override signerChain(): Buffer {
    return Buffer.from(`chain of ${this.certificate?.toString()}`);
  }
}

const away = (): Error => new PedigreeError('signing_failed', 'signer of account "main": openssl was not found');

async function harness(signatures: (Buffer | undefined | Error)[]) {
  const registry = new SigningRegistry(signatures);
  const clock = new VirtualClock(new Date());
  const context = processOn({ ...stores, registry, clock });
  const { requestId } = await registerDocument(stores);
  const send = async () =>
    runTask(
      context,
      asTask((await plannedTasks(stores.store, requestId)).filter(({ kind }) => kind === 'send').at(-1) as never),
    );
  const events = async () => (await eventsOf(stores.store, requestId)).map(({ type }) => type);
  const intent = async () =>
    ((await eventsOf(stores.store, requestId)).find(({ type }) => type === 'SendAttempted') as unknown as SendAttempted)
      .data;
  return { registry, clock, context, requestId, send, events, intent };
}

describe('a document that is to be signed', () => {
  it('waits for its signer, however long that is away, and nothing is recorded meanwhile', async () => {
    const one = await harness([...Array.from({ length: 150 }, away), Buffer.from('signature')]);
    const first = await one.send();
    expect(first).toEqual({
      kind: 'retry',
      delayMs: 10_000,
      error: expect.stringContaining('openssl was not found'),
      countsAsAttempt: false,
    });
    expect(await one.events()).toEqual(['DocumentRegistered']);
    expect(one.registry.sent).toEqual([]);
    const failed = await workOff(
      {
        context: () => one.context,
        thrown: (error) => expect(error).toBeUndefined(),
        clock: one.clock,
        store: stores.store,
      },
      one.requestId,
    );
    expect(failed).toEqual([]);
    expect((await one.events()).at(-1)).toBe('DocumentConcluded');
    expect(one.registry.taken.get(one.requestId)).toHaveLength(1);
  });

  it('goes without a signature for an account that has none', async () => {
    const one = await harness([undefined]);
    expect(await one.send()).toEqual({ kind: 'done' });
    expect(await one.intent()).toEqual({ attempt: 1, account: 'main' });
    expect(one.registry.sent.map(({ signature }) => signature)).toEqual([undefined]);
  });

  it('keeps the certificate of its own signature, when the signer changes it', async () => {
    const kept: (string | undefined)[] = [];
    for (const name of ['certificate one', 'certificate two']) {
      const one = await harness([Buffer.from('signature')]);
      one.registry.certificate = Buffer.from(name);
      await one.send();
      const { certificateSha256 } = await one.intent();
      kept.push((await stores.evidence.get(certificateSha256 ?? ''))?.bytes.toString());
    }
    expect(kept).toEqual(['certificate one', 'certificate two']);
  });

  it('keeps the chain of its certificate, when it was signed, and by whose clock', async () => {
    const one = await harness([Buffer.from('signature')]);
    await one.send();
    const { chainSha256, signedAt, clock } = await one.intent();
    expect((await stores.evidence.get(chainSha256 ?? ''))?.bytes.toString()).toBe('chain of certificate one');
    expect([signedAt, clock]).toEqual([one.clock.now().toISOString(), { source: 'machine' }]);
  });

  it('is not sent when nobody can say by which certificate it was signed', async () => {
    const one = await harness([Buffer.from('signature')]);
    one.registry.certificate = undefined;
    await expect(one.send()).rejects.toThrow('without a certificate');
    expect(await one.events()).toEqual(['DocumentRegistered']);
    expect(one.registry.sent).toEqual([]);
  });
});
