import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { provenLines, verifyLines } from '../../apps/auditor/test/proofs.js';
import { Witnesses } from '../../apps/auditor/src/witnesses/witnesses.js';
import { WitnessRound } from '../../apps/auditor/src/witnesses/witness-round.js';
import { askWitness } from '../../apps/auditor/src/witnesses/ask.js';
import { AuditedLog, type TestAuditor } from '../../apps/auditor/test/audited-log.js';
import { answerRequests } from '../../apps/witness/src/requests.js';
import { StateFolder } from '../../apps/witness/src/state-folder.js';
import { Witness } from '../../apps/witness/src/witness.js';
import { until } from '../support/until.js';
import { VirtualClock } from '#kernel';
import { newSigningKey, noteSigner, parseVerifierKey, parseWitnessKey, verifierKeyOf, witnessKeyOf } from '#merkle';
import { trustedWitnesses } from '#proofs';
import type { ServiceLog } from '#service';
import { cosignedNote, newestCheckpoint } from '#sealed-log';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as ServiceLog;
const signal = new AbortController().signal;
/** Below the limit of a test, so that what does not come is named. */
const LIMIT_MS = 20_000;

/** A witness on a port of its own; it can be away, and come back on its folder. */
class RunningWitness {
  readonly signer: ReturnType<typeof noteSigner>;
  readonly statuses: number[] = [];
  isAway = false;
  private server: Server | undefined;
  private url = '';

  constructor(
    name: string,
    private readonly folder: string,
  ) {
    this.signer = noteSigner(name, newSigningKey());
  }

  async start(logs: string[]): Promise<void> {
    const state = new StateFolder(this.folder);
    const witness = new Witness({ signer: this.signer, logs: logs.map(parseVerifierKey), state });
    const answer = answerRequests(witness, ({ status }) => this.statuses.push(status));
    this.server = createServer((request, response) =>
      this.isAway ? void response.destroy() : answer(request, response),
    );
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  get configured() {
    const key = parseWitnessKey(this.key);
    return { name: key.name, url: this.url, key };
  }

  get key(): string {
    return witnessKeyOf(this.signer);
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.server?.close(resolve);
      this.server?.closeAllConnections();
    });
  }
}

let log: AuditedLog;
let auditor: TestAuditor;
let one: RunningWitness;
let two: RunningWitness;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  one = new RunningWitness('witness.example/one', join(log.place.path, 'witness-one'));
  two = new RunningWitness('witness.example/two', join(log.place.path, 'witness-two'));
  await Promise.all([one, two].map((witness) => witness.start([verifierKeyOf(log.signer)])));
});
afterEach(async () => {
  await Promise.all([one, two].map((witness) => witness.stop()));
  await log.close();
});

async function signed(count: number, by = auditor): Promise<void> {
  await log.write(count);
  await by.seal();
  await by.watch.sign();
}

const roundWith = ({ configured: witness }: RunningWitness, ask = askWitness): WitnessRound =>
  new WitnessRound({ pool: log.db.pool, witness, ask, log: silent });

const published = async (): Promise<string> => {
  const newest = await newestCheckpoint(log.db.pool);
  return newest === undefined ? '' : cosignedNote(log.db.pool, newest);
};

/** As a reader of a proof judges who has seen its checkpoint. */
async function judged(witnesses: RunningWitness[], needed?: number) {
  const { rows } = await log.db.pool.query<{ stream: string }>('SELECT stream FROM event ORDER BY position LIMIT 1');
  const proof = await provenLines(log.db.pool, log.store, rows[0]?.stream ?? '');
  const trusted = trustedWitnesses(
    witnesses.map(({ key }) => key),
    needed,
  );
  return verifyLines(proof, verifierKeyOf(log.signer), { trusted });
}

/** An insider with the database and an old copy of the folder: events 101 on are others, and signed anew. */
const REWRITTEN = `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 105;
  DELETE FROM audit_checkpoint WHERE size > 100; DELETE FROM audit_cosignature WHERE size > 100;
  UPDATE audit_tree SET size = 100; DELETE FROM audit_page WHERE last_position > 100;
  UPDATE checkpoint SET position = 100 WHERE name = 'auditor'`;

async function rewrittenWithOldFolder(): Promise<TestAuditor> {
  await signed(100);
  cpSync(auditor.folder.path, `${log.place.path}/old`, { recursive: true });
  await roundWith(one).turn(signal);
  await signed(10);
  await roundWith(one).turn(signal);
  await log.db.pool.query(REWRITTEN);
  rmSync(auditor.folder.path, { recursive: true });
  const old = log.auditor('old');
  await old.seal();
  return old;
}

describe('a rewritten log together with a restored older folder of the auditor', () => {
  it('goes unnoticed without a witness', async () => {
    const old = await rewrittenWithOldFolder();
    expect((await old.watch.sign())?.size).toBe(110);
    expect(old.alarm.current()).toBeUndefined();
    expect((await newestCheckpoint(log.db.pool))?.size).toBe(110);
    expect((await judged([])).witnessed).toEqual({ witnesses: [], needed: 0, isMet: true });
  });

  it('is refused by a witness, and the auditor says so; the forged checkpoint gets no cosignature', async () => {
    const old = await rewrittenWithOldFolder();
    await old.watch.sign();
    // An auditor that starts anew knows nothing of the witness but its key and address.
    const round = roundWith(one);
    await round.turn(signal);
    expect(one.statuses.slice(-2)).toEqual([409, 422]);
    expect(round.standing).toMatchObject({
      size: 100,
      refused: { reason: expect.stringMatching(/does not cosign the checkpoint of 110 events.*log was rewritten/) },
    });
    expect(await published()).not.toContain(one.signer.name);
    // What it said stands while it is away.
    one.isAway = true;
    await round.turn(signal);
    expect(round.standing).toMatchObject({ failing: { reason: expect.stringMatching(/not answer/) }, refused: {} });
    one.isAway = false;
    // Growing further does not help, and neither does a start.
    await signed(5, old);
    for (const again of [round, roundWith(one)]) {
      await again.turn(signal);
      expect(again.standing.refused).toBeDefined();
    }
    // The proof rests on the last checkpoint that the witness saw; beyond it the policy is not met.
    expect((await judged([one])).witnessed).toMatchObject({ isMet: true });
    await log.db.pool.query('DELETE FROM audit_cosignature');
    expect((await judged([one])).witnessed).toMatchObject({ isMet: false });
  });

  it('is refused where the log was only made smaller', async () => {
    await rewrittenWithOldFolder();
    await log.db.pool.query(
      `DELETE FROM event WHERE position > 104; UPDATE event_counter SET position = 104;
       ${REWRITTEN.slice(REWRITTEN.indexOf('DELETE'))}`,
    );
    rmSync(join(log.place.path, 'old'), { recursive: true });
    const anew = log.auditor('anew');
    await anew.seal();
    await anew.watch.sign();
    const round = roundWith(one);
    await round.turn(signal);
    expect(round.standing.refused?.reason).toMatch(/it has cosigned 110 events, and 104 are signed here: .* smaller/);
  });

  it('is asked about although rows of the database say that the witness has cosigned', async () => {
    const old = await rewrittenWithOldFolder();
    await old.watch.sign();
    await log.db.pool.query(
      `INSERT INTO audit_cosignature SELECT breaks, 110, witness, line, cosigned_at FROM audit_cosignature;
       INSERT INTO audit_cosignature SELECT breaks, 1000, witness, line, cosigned_at FROM audit_cosignature LIMIT 1`,
    );
    const round = roundWith(one);
    await round.turn(signal);
    expect(round.standing.refused).toBeDefined();
  });
});

describe('witnesses of a log that grows', () => {
  it('cosign each checkpoint, which is published and proven with what they said', async () => {
    for (const count of [30, 1, 300]) {
      await signed(count);
      for (const witness of [one, two]) await roundWith(witness).turn(signal);
    }
    expect(one.statuses).toEqual([200, 200, 200]);
    const { witnessed, checkpoint } = await judged([one, two]);
    expect(checkpoint.size).toBe(331);
    expect(witnessed).toMatchObject({ needed: 2, isMet: true, witnesses: [{ seenAt: expect.any(Date) }, {}] });
  });

  it('heal a size that is not the one that was thought, and a lost answer', async () => {
    await signed(20);
    const lost = roundWith(one, async (...args) => {
      await askWitness(...args);
      return { kind: 'refused', words: 'the answer was lost' };
    });
    await lost.turn(signal);
    expect(lost.standing).toMatchObject({ size: 0, failing: { reason: 'the answer was lost' } });
    await signed(20);
    await roundWith(one).turn(signal);
    expect(one.statuses).toEqual([200, 409, 200]);
    expect((await judged([one])).checkpoint.size).toBe(40);
  });

  it('may be away: sealing and signing go on, and what was missed is cosigned with the next', async () => {
    await signed(20);
    one.isAway = true;
    const round = roundWith(one);
    const waits = [await round.turn(signal), await round.turn(signal), await round.turn(signal)];
    expect(waits).toEqual([2_000, 4_000, 8_000]);
    expect(round.standing.failing?.reason).toMatch(/^it does not answer: /);
    expect(round.standing.refused).toBeUndefined();
    await signed(20);
    one.isAway = false;
    expect(await round.turn(signal)).toBe(10_000);
    expect(round.standing).toEqual({ name: one.signer.name, size: 40 });
  });

  it('that do not know the log or the key are named with what to do, and are no alarm', async () => {
    await signed(20);
    const stranger = new RunningWitness('witness.example/three', join(log.place.path, 'witness-three'));
    await stranger.start([verifierKeyOf(noteSigner('other.example/log', newSigningKey()))]);
    try {
      const round = roundWith(stranger);
      await round.turn(signal);
      expect(round.standing).toMatchObject({ failing: { reason: expect.stringMatching(/^it does not know the log/) } });
      expect(round.standing.refused).toBeUndefined();
    } finally {
      await stranger.stop();
    }
  });

  it.each([
    [
      'a cosignature of a stranger',
      { kind: 'cosigned', lines: '\u2014 stranger.example/w AAAAAAAAAAAA\n' },
      /another key/,
    ],
    ['no signature lines', { kind: 'cosigned', lines: 'thanks\n' }, /is not a signature/],
    ['nothing', { kind: 'cosigned', lines: '' }, /no signatures/],
    ['ever other sizes', { kind: 'other_size', size: 7 }, /refuses the size 7, which it has itself/],
  ] as const)('that answer with %s are not believed', async (_what, answer, why) => {
    await signed(20);
    const round = roundWith(one, () => Promise.resolve(answer));
    await round.turn(signal);
    expect(round.standing.failing?.reason).toMatch(why);
    expect(round.standing.refused).toBeUndefined();
    expect((await judged([one])).witnessed.isMet).toBe(false);
  });

  it('that name ever other sizes are asked a few times, and later again', async () => {
    await signed(20);
    let asked = 0;
    const round = roundWith(one, () => Promise.resolve({ kind: 'other_size', size: (asked += 1) }));
    expect(await round.turn(signal)).toBe(2_000);
    expect(asked).toBe(4);
    expect(round.standing.failing?.reason).toBe('it named another size 4 times in a row');
  });

  it('that say of the same size that they have another tree raise the alarm', async () => {
    await signed(20);
    const round = roundWith(one, () => Promise.resolve({ kind: 'other_size', size: 20 }));
    await round.turn(signal);
    expect(round.standing.refused?.reason).toMatch(/its tree of this size is another one/);
  });

  it('are not asked, and are no alarm, where our own tree does not prove that it grew', async () => {
    await signed(20);
    const round = roundWith(one);
    await round.turn(signal);
    await signed(20);
    await log.db.pool.query(
      'UPDATE audit_tile SET hashes = set_byte(hashes, 1000, get_byte(hashes, 1000) # 1) WHERE level = 0',
    );
    await round.turn(signal);
    expect(one.statuses).toEqual([200]);
    expect(round.standing).toMatchObject({
      failing: { reason: 'the tree does not prove that it grew from 20 leaves' },
    });
    expect(round.standing.refused).toBeUndefined();
  });

  it('do not know the log after a break, until their operators are told', async () => {
    await signed(40);
    const round = roundWith(one);
    await round.turn(signal);
    await log.db.pool.query(
      `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = 40;
       TRUNCATE audit_tree, audit_tile, audit_page`,
    );
    await log.tell('one', 'a trial');
    await auditor.watch.look();
    await auditor.seal();
    await auditor.watch.sign();
    await round.turn(signal);
    expect(round.standing).toMatchObject({
      size: 0,
      failing: { reason: expect.stringMatching(/does not know the log/) },
    });
  });
});

describe('a policy', () => {
  it.each([
    [1, 2],
    [2, 2],
  ])('of %d of %d tells since when it is not met, and who is missing', async (needed, of) => {
    const clock = new VirtualClock(new Date());
    const policy = { witnesses: [one.configured, two.configured], needed };
    const stopping = new AbortController();
    const witnesses = new Witnesses({ ...policy, pool: log.db.pool, log: silent, clock });
    two.isAway = true;
    await signed(20);
    const running = witnesses.run(stopping.signal);
    const sizes = (): number[] => witnesses.standings().map(({ size }) => size);
    const isMissed = (): boolean => sizes()[0] === 20 && witnesses.standings()[1]?.failing !== undefined;
    await until('one has cosigned, and one is missing', isMissed, LIMIT_MS);
    expect((await judged([one, two], needed)).witnessed).toMatchObject({ isMet: needed === 1 });
    if (needed === of) {
      await until('it is told', () => witnesses.unwitnessedSince() !== undefined, LIMIT_MS);
      expect(witnesses.troubles().map(({ name }) => name)).toEqual(['witness witness.example/two']);
      clock.advance(600_000);
      expect(witnesses.troubles().map(({ name }) => name)).toEqual(['witness witness.example/two', 'witnesses']);
    }
    two.isAway = false;
    await until(
      'both have cosigned',
      () => {
        clock.advance(10_000);
        return sizes()[1] === 20 && witnesses.unwitnessedSince() === undefined;
      },
      LIMIT_MS,
    );
    expect(witnesses.troubles()).toEqual([]);
    expect((await judged([one, two], needed)).witnessed).toMatchObject({ isMet: true });
    stopping.abort();
    await running;
  });

  it('asks at once when a checkpoint was signed', async () => {
    const stopping = new AbortController();
    const clock = new VirtualClock(new Date());
    const witnesses = new Witnesses({ witnesses: [one.configured], needed: 1, pool: log.db.pool, log: silent, clock });
    const running = witnesses.run(stopping.signal);
    await signed(20);
    await until(
      'it is cosigned',
      () => {
        witnesses.signed();
        return witnesses.standings()[0]?.size === 20;
      },
      LIMIT_MS,
    );
    stopping.abort();
    await running;
  });
});
