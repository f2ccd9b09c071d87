import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { NO_WITNESSES } from '#proofs';
import { AuditedLog, ORIGIN, type TestAuditor } from '../../test/audited-log.js';
import { provenLines, verifyLines } from '../../test/proofs.js';
import { checkVisits, visitFile } from '../visit/visit.js';

const next = noteSigner(ORIGIN, newSigningKey());
let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

const oldKey = (): string => verifierKeyOf(log.signer);
const newKey = verifierKeyOf(next);

async function signed(): Promise<void> {
  await log.append('thing', [{ n: 1 }]);
  await auditor.seal();
  await auditor.watch.sign();
}

/** The same auditor started again with another key, as AUDIT_PREVIOUS_KEYS allows. */
async function keyChanges(): Promise<void> {
  auditor = log.auditor('one', { signer: next, trusted: [oldKey()] });
  await signed();
}

describe('a proof of a log whose key was changed', () => {
  it('holds with the keys of then and now, and names the break that the old one signed', async () => {
    await signed();
    await log.db.pool.query('UPDATE audit_tree SET size = 0');
    await log.tell('one', 'a trial');
    await auditor.watch.look();
    await signed();
    await log.counting().advance();
    await signed();
    await keyChanges();
    const lines = await provenLines(log.db.pool, log.store, 'thing');
    for (const keys of [`${newKey} ${oldKey()}`, `${oldKey()}\n${newKey}`])
      expect(await verifyLines(lines, keys)).toMatchObject({
        checkpoint: { origin: `${ORIGIN}/2` },
        breaks: [{ reason: 'a trial' }],
        streams: [{ stream: 'thing', events: 4 }],
      });
    await expect(verifyLines(lines, newKey)).rejects.toThrow(/^\/breaks: the note carries no signature of/);
    await expect(verifyLines(lines, oldKey())).rejects.toThrow(/^\/checkpoint: the note carries no signature of/);
  });

  it('has no count that the new key has not signed, until there is one', async () => {
    await signed();
    await log.counting().advance();
    await signed();
    await keyChanges();
    const lines = await provenLines(log.db.pool, log.store, 'thing');
    expect((await verifyLines(lines, `${oldKey()} ${newKey}`)).streams).toMatchObject([{ whole: { events: 1 } }]);
  });

  it('is not believed with the key of another log beside', async () => {
    await signed();
    const lines = await provenLines(log.db.pool, log.store, 'thing');
    const other = verifierKeyOf(noteSigner('other.example/log', newSigningKey()));
    await expect(verifyLines(lines, `${oldKey()} ${other}`)).rejects.toThrow(/are keys of several logs/);
    await expect(verifyLines(lines, ' ')).rejects.toThrow(/this is not a verifier key/);
  });
});

describe('visits before and after a change of the key', () => {
  it('show with both keys that the log only grew', async () => {
    await signed();
    const first = await visitFile(log.db.pool, undefined);
    await keyChanges();
    const second = await visitFile(log.db.pool, first);
    expect(checkVisits([first, second], `${newKey} ${oldKey()}`, NO_WITNESSES)).toMatchObject({
      before: { size: 1 },
      now: { size: 2 },
    });
    expect(() => checkVisits([first, second], newKey, NO_WITNESSES)).toThrow(/^the first file: .*no signature/);
  });
});
