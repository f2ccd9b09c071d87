import { describe, expect, it } from '@jest/globals';
import { AddressRules, blockList } from './addresses.js';

const rules = new AddressRules();
const why = (url: string, over = rules): string | undefined => {
  try {
    over.check(url);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_command', place: { field: '/url' } });
    return (error as Error).message;
  }
};

describe('addresses for webhooks', () => {
  it.each([
    'https://erp.example/hooks?tenant=7',
    'https://10.0.0.7/hooks',
    'https://[fd12::7]:8443/',
    'http://127.0.0.1:9000/',
    'http://localhost:9000/',
    'http://[::1]:9000/',
    'https://127.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::203.0.113.7]/',
    'https://[2001:db8::7]/',
  ])('takes %s', (url) => expect(why(url)).toBeUndefined());

  it.each([
    ['no address', 'must be an https address'],
    ['ftp://erp.example/', 'must be an https address'],
    ['file:///etc/passwd', 'must be an https address'],
    ['http://10.0.0.7/', 'http is for this machine alone'],
    ['https://169.254.169.254/latest/meta-data', 'leads to 169.254.169.254'],
    ['http://169.254.169.254/', 'leads to 169.254.169.254'],
    ['https://0xA9FEA9FE/', 'leads to 169.254.169.254'],
    ['https://2852039166/', 'leads to 169.254.169.254'],
    ['https://[::ffff:169.254.169.254]/', 'leads to ::ffff:a9fe:a9fe'],
    ['https://[64:ff9b::a9fe:a9fe]/', 'leads to 64:ff9b::a9fe:a9fe'],
    ['https://[64:ff9b::e000:1]/', 'leads to 64:ff9b::e000:1'],
    ['https://[64:ff9b::127.0.0.1]/', 'leads to 64:ff9b::7f00:1'],
    ['https://[64:ff9b::6464:64c8]/', 'leads to 64:ff9b::6464:64c8'],
    ['https://[64:ff9b:1::a9fe:a9fe]/', 'leads to 64:ff9b:1::a9fe:a9fe'],
    ['https://[2002:a9fe:a9fe::1]/', 'leads to 2002:a9fe:a9fe::1'],
    ['https://[2001:0:a9fe:a9fe::1]/', 'leads to 2001:0:a9fe:a9fe::1'],
    ['https://[::169.254.169.254]/', 'leads to ::a9fe:a9fe'],
    ['http://[::ffff:10.0.0.7]/', 'http is for this machine alone'],
    ['https://[::ffff:100.100.100.200]/', 'leads to ::ffff:6464:64c8'],
    ['https://[fe80::1]/', 'leads to fe80::1'],
    ['https://[fd00:ec2::254]/', 'leads to fd00:ec2::254'],
    ['https://100.100.100.200/', 'leads to 100.100.100.200'],
    ['https://0.0.0.0/', 'leads to 0.0.0.0'],
    ['https://[::]/', 'leads to ::'],
    ['https://224.0.0.1/', 'leads to 224.0.0.1'],
    ['https://user:secret@erp.example/', 'must hold no user and no password'],
    ['https://erp.example/#part', 'must hold no fragment'],
    [`https://erp.example/${'x'.repeat(2_000)}`, 'is longer than 2000 characters'],
  ])('refuses %s', (url, reason) => expect(why(url)).toContain(reason));

  it.each([
    'https://erp.example/a\tb',
    'https://erp.example/\r\nx',
    'https://erp.example/\u001b[2J',
    ' https://erp.example/\u0000',
    'https://erp.example/\u009b1m',
    'https://erp.example/\u202Egnp',
  ])('refuses what is not seen in %j', (url) => {
    expect(why(url)).toContain('must hold no control characters');
  });

  it('says nothing of a password that it refuses', () =>
    expect(why('https://user:secret@erp.example/')).not.toContain('secret'));

  it('takes what the configuration allows', () => {
    const allowed = new AddressRules(blockList(['169.254.7.0/24', '10.0.0.7']));
    for (const url of ['https://169.254.7.9/', 'http://169.254.7.9/', 'http://10.0.0.7/'])
      expect(why(url, allowed)).toBeUndefined();
    for (const url of ['https://169.254.8.9/', 'http://10.0.0.8/']) expect(why(url, allowed)).toBeDefined();
  });

  it.each(['10.0.0.0/33', 'example', '', '::1/129', '10.0.0/8'])('knows %s for no network', (network) =>
    expect(() => blockList([network])).toThrow('is neither an address nor a network'),
  );

  it('judges what a name leads to at the connection', async () => {
    const look = (protocol: string, over: AddressRules) =>
      new Promise<unknown>((resolve) =>
        over.lookupFor(protocol)('localhost', { family: 4 }, (error, address) => resolve(error?.message ?? address)),
      );
    expect(await look('http:', rules)).toBe('127.0.0.1');
    const without = Object.assign(new AddressRules(), { whyNot: () => 'leads nowhere good' });
    expect(await look('https:', without)).toBe('localhost leads nowhere good');
  });
});
