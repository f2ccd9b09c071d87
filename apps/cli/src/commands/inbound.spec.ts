import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import type { GatewayClient } from '../gateway-client.js';
import { addInboundCommands } from './inbound.js';

const ONE = {
  ...{ document_id: 'd-1', title: 'Shipment', channel: 'counterparty', account: 'main', phase: 'concluded' },
  ...{ sentence: 'told', seen_at: '2026-03-01T10:00:00.000Z', timeline: [], errors: [] },
};

let asked: unknown[];
let written: string;
const hear = ((part: string, done?: (error?: Error) => void) => {
  written += part;
  done?.();
  return true;
}) as typeof process.stdout.write;
beforeEach(() => {
  [asked, written] = [[], ''];
  for (const stream of [process.stdout, process.stderr]) jest.spyOn(stream, 'write').mockImplementation(hear);
});
afterEach(() => {
  jest.restoreAllMocks();
});

async function run(...args: string[]): Promise<string> {
  const gateway = {
    raw: (path: string) => {
      asked.push(path);
      return Promise.resolve(path.includes('?') ? { items: [ONE], next_cursor: 'after-d-1' } : ONE);
    },
    change: (_: string, path: string, body: object) => {
      asked.push([path, body]);
      const account = 'main';
      return Promise.resolve(
        path === '/v1/inbound/retries'
          ? { account, document_ids: ['d-1', 'd-2'], more: true }
          : { account, document_id: 'd-1', parts: ['document', 'receipt'] },
      );
    },
  } as unknown as GatewayClient;
  const pedigree = new Command().exitOverride();
  addInboundCommands(
    pedigree,
    (does) =>
      async (...given) =>
        void (await does(...given)),
    () => gateway,
  );
  await pedigree.parseAsync(['inbound', ...args], { from: 'user' });
  return written;
}

describe('pedigree inbound', () => {
  it('lists, shows one, and says how the list goes on', async () => {
    expect(await run()).toContain('there are more: --cursor after-d-1');
    await run('--given-up', '--cursor', 'c');
    await run('--phase', 'followed');
    expect(await run('d/1')).toContain('d-1  Shipment');
    expect(asked).toEqual([
      '/v1/inbound?',
      '/v1/inbound?given_up=true&cursor=c',
      '/v1/inbound?phase=followed',
      '/v1/inbound/d%2F1',
    ]);
  });

  it('has one asked for again, or all of an account, and says what is asked for and whether more are left', async () => {
    expect(await run('retry', 'd/1', '--reason', 'mended', '--account', 'main')).toContain(
      'd-1: the document and the receipt is asked for again, through account main',
    );
    expect(await run('retry', '--all-of', 'gone', '--account', 'main', '--limit', '2', '--reason', 'mended')).toMatch(
      /d-1\nd-2\nasked for again through account main: 2; others are left/,
    );
    const body = { reason: 'mended', account: 'main' };
    expect(asked).toEqual([
      ['/v1/inbound/d%2F1/retries', body],
      ['/v1/inbound/retries', { ...body, of_account: 'gone', limit: 2 }],
    ]);
  });

  it.each([[[]], [['d-1', '--all-of', 'main']]])('asks nothing where it is not told what: retry %j', async (args) => {
    await expect(run('retry', ...args, '--reason', 'mended')).rejects.toMatchObject({ code: 'invalid_parameter' });
    expect(asked).toEqual([]);
  });
});
