import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { addressWithoutSecrets } from './address.js';
import { Health, sentenceOf } from './health.js';

function given(): { health: Health; clock: VirtualClock } {
  const clock = new VirtualClock();
  const health = new Health('worker', clock);
  health.add({ name: 'postgresql', where: 'db:5432/p', secrets: ['s3cret'] });
  health.add({ name: 'registry', where: 'r:443' });
  return { health, clock };
}

describe('the health of a program', () => {
  it('is not ready before it runs and every part is up, and names the parts all the while', () => {
    const { health } = given();
    expect(health.readiness()).toMatchObject({
      status: 'not_ready',
      phase: 'starting',
      parts: [
        { name: 'postgresql', status: 'unknown' },
        { name: 'registry', status: 'unknown' },
      ],
    });
    health.up('postgresql');
    health.up('registry');
    expect(health.readiness().status).toBe('not_ready');
    health.phase = 'running';
    expect(health.readiness()).toMatchObject({ status: 'ready', parts: [{ status: 'up' }, { status: 'up' }] });
  });

  it('is degraded by what a person must look at, and works all the same', () => {
    const { health } = given();
    const troubles = [{ name: 'account main', since: '2026-01-01T00:00:00.000Z', reason: 'paused\n(certificate)' }];
    health.degradedBy(() => troubles);
    expect(health.readiness().status).toBe('not_ready');
    health.phase = 'running';
    for (const name of ['postgresql', 'registry']) health.up(name);
    expect(health.readiness()).toMatchObject({
      status: 'degraded',
      degraded: [{ name: 'account main', reason: 'paused (certificate)' }],
    });
    troubles.length = 0;
    expect(health.readiness()).not.toHaveProperty('degraded');
    expect(health.readiness().status).toBe('ready');
  });

  it('is degraded, and still ready for callers, where a part is away without which they are served', () => {
    const { health } = given();
    health.add({ name: 'rabbitmq', where: 'b:5672', onlyDegrades: true });
    health.phase = 'running';
    for (const name of ['postgresql', 'registry']) health.up(name);
    health.down('rabbitmq', new Error('connect ECONNREFUSED'));
    expect(health.readiness()).toMatchObject({
      status: 'degraded',
      parts: [{ status: 'up' }, { status: 'up' }, { name: 'rabbitmq', status: 'down' }],
      degraded: [{ name: 'rabbitmq', reason: 'connect ECONNREFUSED' }],
    });
    health.down('postgresql', new Error('gone'));
    expect(health.readiness().status).toBe('not_ready');
  });

  it('says which part is away, since when, and what the last error was, without its secret', () => {
    const { health, clock } = given();
    health.phase = 'running';
    for (const name of ['postgresql', 'registry']) health.up(name);
    clock.advance(5_000);
    expect(health.down('postgresql', new Error('first'))).toBe(true);
    clock.advance(2_000);
    expect(health.down('postgresql', new Error('no entry\n with s3cret'))).toBe(false);
    expect(health.readiness()).toMatchObject({
      status: 'not_ready',
      parts: [
        { name: 'postgresql', status: 'down', since: '2026-01-01T00:00:05.000Z', error: 'no entry with ***' },
        { name: 'registry', status: 'up' },
      ],
    });
    expect(health.reason()).toBe('postgresql is away');
    expect(health.up('postgresql')).toBe(2_000);
    expect(health.readiness().parts[0]).not.toHaveProperty('error');
  });

  it('wakes whoever waits for parts when the last of them is up', async () => {
    const { health } = given();
    let isUp = false;
    const waiting = health.untilUp(['postgresql', 'registry'], new AbortController().signal).then(() => (isUp = true));
    health.up('registry');
    await Promise.resolve();
    expect(isUp).toBe(false);
    health.up('postgresql');
    await waiting;
    expect(isUp).toBe(true);
  });
});

describe('what is shown of an error or an address', () => {
  it('is one line without a password', () => {
    expect(sentenceOf(new Error('cannot reach postgres://me:pw@db:5432/x'))).toBe(
      'cannot reach postgres://me:***@db:5432/x',
    );
    expect(sentenceOf({ code: 'ECONNREFUSED', message: '' })).toBe('ECONNREFUSED');
    expect(addressWithoutSecrets('amqp://me:pw@mq:5672/?token=abc')).toBe('amqp://me:***@mq:5672/?token=***');
    expect(addressWithoutSecrets('esdb://me:pw@a:1,b:2')).toBe('esdb://me:***@a:1,b:2');
  });
});
