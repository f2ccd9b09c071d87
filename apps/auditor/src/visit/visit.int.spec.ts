import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addCheckpointText, newSigningKey, noteSigner, parseAddCheckpoint, verifierKeyOf } from '#merkle';
import { NO_WITNESSES } from '#proofs';
import { AuditedLog, ORIGIN, type TestAuditor } from '../../test/audited-log.js';
import { checkVisits, visitFile } from './visit.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

async function signed(count: number): Promise<void> {
  await log.write(count);
  await auditor.seal();
  await auditor.watch.sign();
}
const visit = (since?: string): Promise<string> => visitFile(log.db.pool, since);
const check = (since: string, file: string, key = verifierKeyOf(log.signer)) =>
  checkVisits([since, file], key, NO_WITNESSES);

describe('what an auditor takes home', () => {
  it('shows at each further visit that the log only grew, by the two files and the key alone', async () => {
    await signed(40);
    const first = await visit();
    expect(first).toMatch(new RegExp(`^old 0\\n\\n${ORIGIN}\\n40\\n`));
    expect(check(first, await visit(first))).toMatchObject({ before: { size: 40 }, now: { size: 40 } });
    await signed(60);
    const second = await visit(first);
    await signed(200);
    const third = await visit(second);
    expect(check(first, second)).toMatchObject({ before: { size: 40 }, now: { size: 100, origin: ORIGIN } });
    expect(check(second, third)).toMatchObject({ before: { size: 100 }, now: { size: 300 } });
  });

  it('is refused with any bit of the proof flipped, with another key, and where the files are no pair', async () => {
    await signed(40);
    const first = await visit();
    await signed(37);
    const second = await visit(first);
    const { old, path, note } = parseAddCheckpoint(second);
    for (let bit = 0; bit < path.length * 256; bit += 1) {
      const changed = path.map((hash) => Buffer.from(hash));
      const hash = changed[bit >> 8] as Buffer;
      hash[(bit & 255) >> 3] = (hash[(bit & 255) >> 3] as number) ^ (1 << (bit & 7));
      expect(() => check(first, addCheckpointText({ old, path: changed, note }))).toThrow(/does not begin with the 40/);
    }
    expect(() => check(first, second, verifierKeyOf(noteSigner(ORIGIN, newSigningKey())))).toThrow(/no signature of/);
    expect(() => check(first, second.replace('\n77\n', '\n78\n'))).toThrow(/does not fit the text/);
    expect(() => check(second, second)).toThrow(/proof since 40 events, and the first file is of 77/);
    // Old size 0 proves nothing, whatever is behind it.
    expect(() => check(first, first)).toThrow(/proof since 0 events, and the first file is of 40/);
    expect(() => check('nonsense', second)).toThrow(/^the first file: /);
  });

  it('is not made where the log was rewritten or made smaller since', async () => {
    await signed(40);
    const first = await visit();
    for (const change of [
      `UPDATE audit_tile SET hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) WHERE level = 0`,
      `DELETE FROM audit_checkpoint; INSERT INTO audit_checkpoint (size, root, note)
         SELECT 10, ''::bytea, '${ORIGIN}' || E'\\n10\\n${Buffer.alloc(32).toString('base64')}\\n\\n— x AAAAAAAA\\n'`,
    ]) {
      await log.db.pool.query(change);
      await expect(visit(first)).rejects.toThrow(
        'does not begin with the 40 events that the file says: it was rewritten',
      );
    }
  });

  it('tells of each break since, instead of a proof', async () => {
    await signed(40);
    const first = await visit();
    await log.db.pool.query(
      `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 40;
       TRUNCATE audit_tree, audit_tile, audit_page`,
    );
    await log.tell('one', 'a trial');
    await auditor.watch.look();
    await signed(10);
    await expect(visit(first)).rejects.toThrow(
      new RegExp(`is of the log ${ORIGIN}, and this one is ${ORIGIN}/2. break 1 of the log, told by anna .*: a trial`),
    );
    const second = await visit();
    expect(() => check(first, second)).toThrow(/the log was broken off between/);
    await signed(10);
    expect(check(second, await visit(second))).toMatchObject({ now: { origin: `${ORIGIN}/2`, size: 61 } });
  });
});
