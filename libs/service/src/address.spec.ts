import { describe, expect, it } from '@jest/globals';
import { addressWithoutSecrets } from './address.js';
import { tcpDependency } from './dependency.js';

describe('an address as it may be shown', () => {
  it.each([
    ['postgres://pedigree:word@db:5432/x', 'postgres://pedigree:***@db:5432/x'],
    ['postgres://db/x?user=pedigree&password=word', 'postgres://db/x?user=pedigree&password=***'],
    ['esdb://me:word@a:2113,b:2113?tls=true', 'esdb://me:***@a:2113,b:2113?tls=true'],
    ['esdb://a:2113,b:2113?token=word', 'esdb://a:2113,b:2113?token=***'],
    // The client of the event log takes these to the letter, so they are passwords.
    ['esdb://me:wo/rd@a:2113', 'esdb://me:***@a:2113'],
    ['esdb://me:wo/r@d@a:2113,b:2113?tls=true', 'esdb://me:***@a:2113,b:2113?tls=true'],
    // These no standard URL holds in its password, and whoever reads the address otherwise takes them for one.
    ['esdb://me:wo#rd@a:2113?tls=false', 'esdb://me:***@a:2113?tls=false'],
    ['esdb://me:wo?rd@a:2113,b:2113', 'esdb://me:***@a:2113,b:2113'],
    ['esdb://me:12/rd@a:2113', 'esdb://me:***@a:2113'],
    ['esdb://me:12#rd@a:2113', 'esdb://me:***@a:2113'],
    ['postgres://me:p@ss/word@db/x', 'postgres://me:***@db/x'],
    ['amqp://me:p@s#w@bus/v', 'amqp://me:***@bus/v'],
    ['esdb://me@corp:word@a:2113', 'esdb://me%40corp:***@a:2113'],
    ['amqp://me:wo#rd@bus/v', 'amqp://me:***@bus/v'],
    ['https://name@host:8080/', 'https://name@host:8080/'],
    ['https://me:word@collector/v1?api-key=word', 'https://me:***@collector/v1?api-key=***'],
    ['https://collector:4318/', 'https://collector:4318/'],
  ])('%s is %s', (address, shown) => {
    expect(addressWithoutSecrets(address)).toBe(shown);
  });
});

describe('the service at an address', () => {
  it.each([
    ['amqp://me:word@bus', 'bus:5672'],
    ['esdb+discover://log', 'log:2113'],
    ['esdb://me:wo/rd@a:2113,b:2114?tls=true', 'a:2113,b:2114'],
    ['esdb://me@corp:word@a:2113', 'a:2113'],
  ])('%s is shown as %s, and its password never', (address, where) => {
    const dependency = tcpDependency('service', address);
    expect(dependency.where).toBe(where);
    expect(dependency.secrets).toEqual(address.includes('@') ? [expect.stringMatching(/^wo\/?rd$/)] : []);
  });
});
