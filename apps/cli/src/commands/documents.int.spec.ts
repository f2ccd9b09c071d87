import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { DocumentCommand } from '#domain';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness } from '../../../gateway/test/test-harness.js';
import { commandLine } from '../command-line.js';
import { GatewayClient } from '../gateway-client.js';
import { showGroup } from './groups.js';
import { requestIdOfNamed } from '../named-document.js';
import { addDocumentsCommand } from './documents.js';
import { resendMany, type ResendManyOptions } from './resend-many.js';

const SHA = 'a'.repeat(64);
const REFUSED: DocumentCommand[] = [
  { type: 'BeginSend' },
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'refused', code: '400', text: 'no', answerSha256: SHA } },
];
const REASON = 'the certificate was renewed';

let harness: TestHarness;
let client: GatewayClient;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  client = new GatewayClient(harness.gateway.url);
  for (let n = 1; n <= 4; n += 1)
    await given(`failed-${n}`, { reference: `Invoice ${n}`, account: n === 4 ? 'north' : 'main', commands: REFUSED });
  await given('under-way', { reference: 'Invoice 1', account: 'main', commands: [] });
});
afterAll(() => harness.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

let packs = 0;
async function given(
  commandId: string,
  { reference, account, commands }: { reference: string; account: string; commands: DocumentCommand[] },
): Promise<string> {
  packs += 1;
  const xml = arrival(`<sgtin>${SGTIN.slice(0, -3)}${String(packs).padStart(3, '0')}</sgtin>`);
  expect((await harness.post({ command_id: commandId, reference, account, xml })).status).toBe(202);
  return harness.run(commandId, commands);
}

const idOf = (commandId: string): Promise<string> => requestIdOfNamed(client, commandId);

/** What a command prints, and its exit status. */
async function printed(run: () => Promise<number>): Promise<{ status: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    jest.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      written[stream] += String(chunk);
      return true;
    });
  }
  const status = await run();
  jest.restoreAllMocks();
  return { status, ...written };
}

describe('a document', () => {
  it('is found by its request_id, in letters of any case, by the command id and by the reference', async () => {
    const requestId = await idOf('failed-2');
    expect(
      await Promise.all(
        [requestId, requestId.toUpperCase(), 'failed-2', 'Invoice 2'].map((named) => requestIdOfNamed(client, named)),
      ),
    ).toEqual([requestId, requestId, requestId, requestId]);
  });

  it('is found before it is registered, and when its command id is a UUID or like no id of ours', async () => {
    const taken = await harness.post({ command_id: '6f1b2c9e-3a70-4a51-9a7e-000000000001', xml: arrival() });
    expect(await requestIdOfNamed(client, '6f1b2c9e-3a70-4a51-9a7e-000000000001')).toBe(
      taken.json<{ request_id: string }>().request_id,
    );
    await harness.post({ command_id: 'ERP/2026 № 5', xml: arrival() });
    expect(await requestIdOfNamed(client, 'ERP/2026 № 5')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is asked for again where several have the reference, each with its state', async () => {
    await expect(requestIdOfNamed(client, 'Invoice 1')).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringMatching(
        /^several documents have the reference Invoice 1; name one by its request_id:\n {2}\S{36} {2}ready .*command under-way\n {2}\S{36} {2}failed .*command failed-1$/,
      ),
    });
  });

  it.each(['nobody-has-it', '00000000-0000-4000-8000-000000000000', 'x'.repeat(300)])(
    'that nobody knows is not found: %s',
    async (named) => {
      await expect(requestIdOfNamed(client, named)).rejects.toMatchObject({
        code: 'not_found',
        message: `no document has the request_id, command id or reference ${named}`,
      });
      await expect(showGroup(client, named, false)).rejects.toMatchObject({
        ...{ code: 'not_found', message: `no group has the request_id, command id or reference ${named}` },
      });
    },
  );
});

describe('pedigree documents', () => {
  async function list(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    let status = -1;
    const pedigree = commandLine(() => undefined);
    // The command as it is, but with this gateway.
    const own = pedigree.createCommand('test').exitOverride();
    addDocumentsCommand(
      own,
      (run) =>
        async (...given) =>
          void (status = await run(...given)),
      () => client,
    );
    const { stdout, stderr } = await printed(
      async () => (await own.parseAsync(['documents', ...args], { from: 'user' }), 0),
    );
    return { status, stdout, stderr };
  }
  const commandsIn = async (...args: string[]): Promise<string[]> =>
    (JSON.parse((await list(...args, '--json')).stdout) as { items: { command_id: string }[] }).items.map(
      (one) => one.command_id,
    );

  it.each<[string[], string[]]>([
    [
      ['--outcome', 'failed'],
      ['failed-4', 'failed-3', 'failed-2', 'failed-1'],
    ],
    [['--cause', 'send_refused', '--account', 'north'], ['failed-4']],
    [['--cause', 'predecessor_failed'], []],
    [['--phase', 'ready'], ['under-way']],
    [
      ['--reference', 'Invoice 1'],
      ['under-way', 'failed-1'],
    ],
    [
      ['--type', '701', '--since', '1h', '--limit', '2'],
      ['under-way', 'failed-4'],
    ],
    [['--until', '2026-03-01'], []],
  ])('lists by %j', async (args, wanted) => {
    expect(await commandsIn(...args)).toEqual(wanted);
  });

  it('prints a table for people with request_ids in full, and says how to get the next page', async () => {
    const first = await list('--limit', '3');
    expect(first.stdout.split('\n')[0]).toMatch(/^request_id +state +type +reference +account +registered$/);
    expect(first.stdout).toContain(await idOf('failed-4'));
    const [, cursor = ''] = /^there are more: --cursor (\S+)\n$/.exec(first.stderr) ?? [];
    expect((await list('--limit', '3', '--cursor', cursor)).stdout).toContain(await idOf('failed-1'));
  });

  it('goes on with the moments of the first page, where they were given as a time ago', async () => {
    const first = await list('--limit', '3', '--since', '1h');
    const [, further = ''] = /^there are more: (.+)\n$/.exec(first.stderr) ?? [];
    expect(further).toMatch(/^--cursor \S+ --since \d{4}-\S+Z$/);
    expect((await list('--limit', '3', ...further.split(' '))).stdout).toContain(await idOf('failed-1'));
  });

  it.each([
    [['--since', 'yesterday'], /--since: yesterday is not a date/],
    [['--since', '2026-02-30'], /--since: 2026-02-30 is not a date/],
    [['--until', '2026-06-31T09:00:00+03:00'], /--until: 2026-06-31T09:00:00\+03:00 is not a date/],
    [['--since', '2026-03-01T09:00:00'], /not a date.*instant with a zone/],
    [['--outcome', 'lost'], /^outcome: /],
    [['--limit', '0'], /^limit: /],
  ])('refuses %j', async (args, words) => {
    await expect(list(...args)).rejects.toThrow(words);
  });
});

describe('pedigree resend of many', () => {
  const resend = (options: Partial<ResendManyOptions>) =>
    printed(() => resendMany(client, { reason: REASON, limit: '100', ...options }));
  const tokenIn = (stderr: string): string => /--confirm (\d+-[0-9a-f]{8})\n$/.exec(stderr)?.[1] ?? '';
  const acknowledged = async (): Promise<number> => harness.registered();

  it('shows what would be sent, and how many by cause, and sends nothing', async () => {
    const before = await acknowledged();
    const { status, stdout, stderr } = await resend({ cause: 'send_refused' });
    expect([status, await acknowledged()]).toEqual([0, before]);
    for (const name of ['failed-1', 'failed-2', 'failed-3', 'failed-4']) expect(stdout).toContain(await idOf(name));
    expect(stdout).toMatch(/would be sent again +documents\n─+\nsend_refused +4$/m);
    expect(tokenIn(stderr)).toMatch(/^4-/);
  });

  it('sends nothing for a token of another preview: what was not seen is not sent', async () => {
    const before = await acknowledged();
    const token = tokenIn((await resend({ outcome: 'failed', account: 'main' })).stderr);
    const { status, stderr } = await resend({ outcome: 'failed', confirm: token });
    expect([status, await acknowledged()]).toEqual([1, before]);
    expect(stderr).toMatch(
      new RegExp(`^pedigree: --confirm ${token} stands for other documents than these; nothing was sent\n`),
    );
  });

  it(
    'sends those that were shown, the oldest first and no more than the limit, and none twice when the run is cut ' +
      'and made again',
    async () => {
      const before = await acknowledged();
      const limited = { cause: 'send_refused', limit: '3' };
      const preview = await resend(limited);
      expect(preview.stdout).toMatch(/^left out: 1 beyond --limit$/m);
      const confirm = tokenIn(preview.stderr);
      const post = jest.spyOn(client, 'resend');
      post.mockImplementationOnce(async (...args) => {
        await new GatewayClient(harness.gateway.url).resend(...args);
        throw new Error('the connection was cut, and nobody knows whether it was taken');
      });
      await expect(resend({ ...limited, confirm })).rejects.toThrow('the connection was cut');
      expect(await acknowledged()).toBe(before + 1);
      const { status, stdout } = await resend({ ...limited, confirm });
      expect(status).toBe(0);
      expect(stdout).toMatch(new RegExp(`^${await idOf('failed-1')} +\\S{36} +sent again before$`, 'm'));
      expect(stdout).toMatch(/^3 sent again, 0 refused$/m);
      expect(stdout).not.toContain(await idOf('failed-4'));
      expect(await acknowledged()).toBe(before + 3);
      // As the worker and its projection leave it: what was sent again is named no more.
      await harness.db.pool.query(
        `UPDATE document_outcome SET resent_as = request_id WHERE command_id IN ('failed-1', 'failed-2', 'failed-3')`,
      );
      const next = (await resend(limited)).stdout;
      expect([next.includes(await idOf('failed-4')), next.includes(await idOf('failed-1'))]).toEqual([true, false]);
      expect(next).toMatch(/^left out: 3 sent again before$/m);
    },
  );

  it('names a refused one, and the others go', async () => {
    await given('failed-5', { reference: 'Invoice 5', account: 'north', commands: REFUSED });
    const confirm = tokenIn((await resend({ outcome: 'failed', account: 'north' })).stderr);
    await client.resend(await idOf('failed-4'), { reason: 'somebody else was quicker' });
    const { status, stdout } = await resend({ outcome: 'failed', account: 'north', confirm });
    expect(status).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${await idOf('failed-4')} .*command_conflict`, 'm'));
    expect(stdout).toMatch(/^1 sent again, 1 refused$/m);
  });

  it.each<[Partial<ResendManyOptions>, RegExp]>([
    [{}, /name a document, or which documents/],
    [{ outcome: 'accepted' }, /accepted documents are not sent again/],
    [{ outcome: 'failed', limit: '1001' }, /--limit: must be from 1 to 1000/],
  ])('refuses %j', async (options, words) => {
    await expect(resend(options)).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(words),
    });
  });
});
