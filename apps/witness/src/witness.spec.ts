import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { VirtualClock } from '#kernel';
import { cosignaturesIn, newSigningKey, noteSigner, parseWitnessKey, signNote, witnessKeyOf } from '#merkle';
import { WitnessedLog } from '../test/witnessed-log.js';
import { realDisk, StateFolder, type DiskSteps } from './state-folder.js';
import { Witness, type Answer } from './witness.js';

const signer = noteSigner('witness.example/w1', newSigningKey());
const KEY = parseWitnessKey(witnessKeyOf(signer));
const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));

let folder: TemporaryFolder;
let log: WitnessedLog;
let fork: WitnessedLog;
beforeEach(async () => {
  folder = await temporaryFolder();
  log = WitnessedLog.of(40);
  fork = WitnessedLog.fork(log, 5, 40);
});
afterEach(() => folder.remove());

/** A process on this folder: another one begins where the one before was killed. */
const witness = (disk: DiskSteps = realDisk): Witness =>
  new Witness({ signer, logs: [log.key], state: new StateFolder(folder.path, disk), clock });

async function cosigned(answer: Answer, of: WitnessedLog, size: number): Promise<void> {
  expect(answer).toMatchObject({ status: 200 });
  expect(cosignaturesIn(`${await of.note(size)}${answer.body}`, [KEY])).toMatchObject([{ at: clock.now() }]);
}

describe('a witness', () => {
  it('cosigns a log as it grows, and the same size again', async () => {
    const one = witness();
    await cosigned(one.addCheckpoint(await log.request(0, 10)), log, 10);
    await cosigned(one.addCheckpoint(await log.request(10, 10)), log, 10);
    await cosigned(one.addCheckpoint(await log.request(10, 33)), log, 33);
    await cosigned(witness().addCheckpoint(await log.request(33, 40)), log, 40);
  });

  it('tells its size where it is asked from another one, and cosigns nothing', async () => {
    const one = witness();
    expect(one.addCheckpoint(await log.request(5, 10))).toMatchObject({ status: 409, body: '0\n' });
    one.addCheckpoint(await log.request(0, 20));
    for (const [old, size] of [
      [0, 20],
      [0, 40],
      [10, 40],
      [10, 15],
      [15, 15],
      [30, 40],
    ] as const)
      expect(one.addCheckpoint(await log.request(old, size))).toMatchObject({
        status: 409,
        body: '20\n',
        contentType: 'text/x.tlog.size',
      });
  });

  it('refuses another tree, larger or of the same size, and keeps what the log signed there', async () => {
    const one = witness();
    one.addCheckpoint(await log.request(0, 20));
    for (const size of [20, 21, 40]) {
      const body = await fork.request(20, size);
      expect(one.addCheckpoint(body)).toMatchObject({ status: 422, origin: log.signer.name });
    }
    const kept = new StateFolder(folder.path).refused(log.signer.name);
    expect(kept).toMatchObject({ isSure: true });
    expect(readFileSync(kept?.file ?? '', 'utf8')).toBe(await fork.request(20, 20));
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.refused'))).toHaveLength(3);
    // It goes on with the log that it knows.
    await cosigned(one.addCheckpoint(await log.request(20, 40)), log, 40);
  });

  it('keeps what the log signed although a stranger has brought its checkpoint with a wrong proof before', async () => {
    const one = witness();
    one.addCheckpoint(await log.request(0, 13));
    // Checkpoints are public, and whoever reaches the witness may bring one.
    const wrong = (await log.request(13, 20)).replace(/^(old 13\n)[^\n]+/, `$1${Buffer.alloc(32).toString('base64')}`);
    expect(one.addCheckpoint(wrong)).toMatchObject({ status: 422 });
    expect(one.addCheckpoint(await fork.request(13, 20))).toMatchObject({ status: 422 });
    expect(one.addCheckpoint(await fork.request(13, 13))).toMatchObject({ status: 422 });
    const kept = readdirSync(folder.path)
      .filter((name) => name.endsWith('.refused'))
      .map((name) => readFileSync(join(folder.path, name), 'utf8'));
    expect(kept).toEqual(expect.arrayContaining([await fork.request(13, 20), await fork.request(13, 13)]));
    // However many are brought, the disk does not fill.
    for (let size = 14; size <= 40; size += 1) one.addCheckpoint(await fork.request(13, size));
    expect(readdirSync(folder.path)).toHaveLength(1 + 1 + 16);
  });

  it('accuses no log for a request that no log signs: a proof from nothing, or lines that are no proof', async () => {
    const one = witness();
    const line = Buffer.alloc(32).toString('base64');
    expect(one.addCheckpoint(`old 0\n${line}\n\n${await log.note(20)}`).status).toBe(422);
    one.addCheckpoint(await log.request(0, 13));
    expect(one.addCheckpoint(`old 13\n${line}\n\n${await log.note(13)}`).status).toBe(422);
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.refused'))).toEqual([]);
  });

  it('refuses a proof that is not empty from nothing, or that was changed in any bit', async () => {
    const one = witness();
    const note = await log.note(20);
    expect(one.addCheckpoint(`old 0\n${(await log.path(10, 20))[0]?.toString('base64')}\n\n${note}`).status).toBe(422);
    one.addCheckpoint(await log.request(0, 13));
    const path = await log.path(13, 20);
    for (let bit = 0; bit < path.length * 256; bit += 1) {
      const changed = path.map((hash) => Buffer.from(hash));
      const hash = changed[bit >> 8] as Buffer;
      hash[(bit & 255) >> 3] = (hash[(bit & 255) >> 3] as number) ^ (1 << (bit & 7));
      const body = `old 13\n${changed.map((one) => `${one.toString('base64')}\n`).join('')}\n${note}`;
      expect(one.addCheckpoint(body).status).toBe(422);
    }
    await cosigned(one.addCheckpoint(await log.request(13, 20)), log, 20);
  });

  it('does not know other logs, other keys, signatures that do not fit, or what is no request', async () => {
    const one = witness();
    const stranger = WitnessedLog.of(9, { signer: noteSigner('other.example/log', newSigningKey()) });
    expect(one.addCheckpoint(await stranger.request(0, 9)).status).toBe(404);
    const sameName = WitnessedLog.of(9, { signer: noteSigner(log.signer.name, newSigningKey()) });
    expect(one.addCheckpoint(await sameName.request(0, 9)).status).toBe(403);
    const good = await log.request(0, 9);
    expect(one.addCheckpoint(good.replace('\n9\n', '\n8\n')).status).toBe(403);
    for (const bad of ['', 'old 0\n', 'old x\n\n', good.slice(0, -1), good.replace('old 0', 'old 10')])
      expect(one.addCheckpoint(bad).status).toBe(400);
    const notACheckpoint = signNote(`${log.signer.name}\nnine\nroot\n`, log.signer);
    expect(one.addCheckpoint(`old 0\n\n${notACheckpoint}`).status).toBe(400);
    const emptyTree = signNote(`${log.signer.name}\n0\n${Buffer.alloc(32).toString('base64')}\n`, log.signer);
    expect(one.addCheckpoint(`old 0\n\n${emptyTree}`).status).toBe(422);
    expect(readdirSync(folder.path).filter((name) => !name.endsWith('.refused'))).toEqual([]);
  });

  it('takes two keys of one log, as long as no known one signs wrongly', async () => {
    const next = noteSigner(log.signer.name, newSigningKey());
    const renewed = WitnessedLog.of(40, { signer: next });
    const one = new Witness({ signer, logs: [log.key, renewed.key], state: new StateFolder(folder.path), clock });
    await cosigned(one.addCheckpoint(await log.request(0, 10)), log, 10);
    await cosigned(one.addCheckpoint(await renewed.request(10, 20)), renewed, 20);
    const wrong = (await log.note(9)).split('\n\n')[1];
    expect(one.addCheckpoint(`${await renewed.request(20, 30)}${wrong}`).status).toBe(403);
  });

  it('cosigns nothing of a log whose file is damaged, and says which file', async () => {
    witness().addCheckpoint(await log.request(0, 20));
    const [file] = readdirSync(folder.path);
    for (const text of ['', 'nonsense', readFileSync(join(folder.path, file ?? ''), 'utf8').replace('20', '2x')]) {
      writeFileSync(join(folder.path, file ?? ''), text);
      const body = await log.request(0, 30);
      expect(() => witness().addCheckpoint(body)).toThrow(new RegExp(`${file} is damaged`));
    }
  });
});

/** Where a process ends: before the step, or after it was done, as whoever did not hear of it. */
type Death = { step: keyof DiskSteps; isDone: boolean };
const DEATHS: Death[] = (['write', 'name', 'settle'] as const).flatMap((step) =>
  [false, true].map((isDone) => ({ step, isDone })),
);

function dyingAt({ step, isDone }: Death): DiskSteps {
  const die = (): never => {
    throw new Error('the process dies here');
  };
  return {
    ...realDisk,
    [step]: (...args: [never, never]) => {
      if (isDone) (realDisk[step] as (...args: unknown[]) => unknown)(...args);
      return die();
    },
  };
}

describe('a witness that dies between write and answer', () => {
  it.each(DEATHS)('never cosigns a fork afterwards: at $step, done $isDone', async (death) => {
    witness().addCheckpoint(await log.request(0, 10));
    const [first, second] = [await log.request(10, 20), await fork.request(10, 20)];
    expect(() => witness(dyingAt(death)).addCheckpoint(first)).toThrow('dies here');
    const isKept = death.step === 'settle' || (death.step === 'name' && death.isDone);
    // A fork from 5 on is another log at 10 already.
    expect(witness().addCheckpoint(second).status).toBe(isKept ? 409 : 422);
    // The log itself heals: it is told the size, or is cosigned as if nothing had been.
    const again = witness().addCheckpoint(first);
    if (isKept) expect(again).toMatchObject({ status: 409, body: '20\n' });
    else await cosigned(again, log, 20);
    await cosigned(witness().addCheckpoint(await log.request(20, 20)), log, 20);
    await cosigned(witness().addCheckpoint(await log.request(20, 30)), log, 30);
    expect(readdirSync(folder.path).filter((name) => !name.endsWith('.refused'))).toHaveLength(1);
  });

  it('forces to the disk what another process has named, before it cosigns that once more', async () => {
    witness().addCheckpoint(await log.request(0, 10));
    const steps: string[] = [];
    const told = witness({ ...realDisk, settle: (place) => (steps.push('settle'), realDisk.settle(place)) });
    await cosigned(told.addCheckpoint(await log.request(10, 10)), log, 10);
    expect(steps).toEqual(['settle']);
  });

  it('never cosigns a fork of its first checkpoint either', async () => {
    const dying = witness(dyingAt({ step: 'settle', isDone: true }));
    const forked = await fork.request(0, 20);
    const body = await log.request(0, 20);
    expect(() => dying.addCheckpoint(body)).toThrow('dies here');
    expect(witness().addCheckpoint(forked)).toMatchObject({ status: 409, body: '20\n' });
    expect(witness().addCheckpoint(await fork.request(20, 20)).status).toBe(422);
  });
});

describe('two processes on one folder by mistake', () => {
  /** The other one is at work between our look and our write. */
  const interrupted = (meanwhile: () => void): DiskSteps => {
    let isFirst = true;
    return {
      ...realDisk,
      name: (unnamed, file) => {
        if (isFirst) {
          isFirst = false;
          meanwhile();
        }
        return realDisk.name(unnamed, file);
      },
    };
  };

  it('cosign no fork: the slower one is told the size', async () => {
    witness().addCheckpoint(await log.request(0, 5));
    const [ours, theirs] = [await fork.request(5, 20), await log.request(5, 30)];
    const slow = witness(interrupted(() => void witness().addCheckpoint(theirs)));
    expect(slow.addCheckpoint(ours)).toMatchObject({ status: 409, body: '30\n' });
  });

  it('cosign no fork although the place of the slower one was used and tidied up since', async () => {
    witness().addCheckpoint(await log.request(0, 5));
    const ours = await fork.request(5, 20);
    const theirs = [await log.request(5, 10), await log.request(10, 20), await log.request(20, 30)];
    const slow = witness(interrupted(() => theirs.forEach((body) => witness().addCheckpoint(body))));
    expect(slow.addCheckpoint(ours)).toMatchObject({ status: 409, body: '30\n' });
    await cosigned(witness().addCheckpoint(await log.request(30, 40)), log, 40);
  });
});
