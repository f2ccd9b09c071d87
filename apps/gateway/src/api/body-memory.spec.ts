import { describe, expect, it } from '@jest/globals';
import { PassThrough, Readable } from 'node:stream';
import { BodyMemory, wholeBody } from './body-memory.js';

const free = (memory: BodyMemory): number => {
  let bytes = 0;
  while (memory.take(1)) bytes += 1;
  memory.giveBack(bytes);
  return bytes;
};

describe('the memory for bodies', () => {
  it('is shared by all requests, and whole again when they have ended', () => {
    const memory = new BodyMemory(10);
    const [one, other] = [memory.share(), memory.share()];
    expect([one.take(6), other.take(5), other.take(4), one.take(1)]).toEqual([true, false, true, false]);
    one.giveBack(2);
    // More than one has gives nothing of what others have.
    one.giveBack(100);
    expect(free(memory)).toBe(6);
    other.end();
    expect(free(memory)).toBe(10);
  });

  it('counts nothing for a request that has ended: nobody would give it back', () => {
    const memory = new BodyMemory(10);
    const share = memory.share();
    share.end();
    expect([share.take(8), free(memory)]).toEqual([true, 10]);
    share.giveBack(8);
    expect(free(memory)).toBe(10);
  });
});

describe('a whole body', () => {
  const limits = { toldBytes: undefined, mostToldBytes: 8, mostBytes: 4 };
  const body = (...chunks: string[]): Readable => Readable.from(chunks.map((one) => Buffer.from(one)));

  it('comes together, whether its length is told or not', async () => {
    const share = new BodyMemory(100).share();
    expect(String(await wholeBody(body('ab', 'cd'), { share, ...limits }))).toBe('abcd');
    expect(String(await wholeBody(body('abcd', 'efgh'), { share, ...limits, toldBytes: 8 }))).toBe('abcdefgh');
  });

  it('that is too long is not read to its end, and left open for the answer', async () => {
    const endless = new PassThrough();
    endless.write('abc');
    endless.write('de');
    await expect(wholeBody(endless, { share: new BodyMemory(100).share(), ...limits })).rejects.toMatchObject({
      code: 'body_too_large',
    });
    expect(endless.destroyed).toBe(false);
    await expect(
      wholeBody(endless, { share: new BodyMemory(100).share(), ...limits, toldBytes: 9 }),
    ).rejects.toMatchObject({ code: 'body_too_large' });
  });

  it('that finds no room is not read, and one that breaks off is no fault of ours', async () => {
    const share = new BodyMemory(3).share();
    await expect(wholeBody(body('abcd'), { share, ...limits })).rejects.toMatchObject({ code: 'backlog_full' });
    await expect(wholeBody(body('a'), { share, ...limits, toldBytes: 4 })).rejects.toMatchObject({
      code: 'backlog_full',
    });
    const broken = new PassThrough();
    const read = wholeBody(broken, { share: new BodyMemory(100).share(), ...limits });
    broken.destroy(new Error('ECONNRESET'));
    await expect(read).rejects.toMatchObject({ code: 'missing_body' });
  });
});
