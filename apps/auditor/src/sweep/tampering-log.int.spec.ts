// Left to the soak: each change of the log. `npm test` has tampering.int.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkStored, PostgresEvidenceStore } from '#evidence';
import { cosign, newSigningKey, noteSigner, noteText, parseWitnessKey, witnessKeyOf, type Checkpoint } from '#merkle';
import { leafOf, LogKeys, openBreaks } from '#proofs';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { rememberedCheckpoint, toldHead } from '../memory/hold.js';
import type { Finding } from './finding.js';
import { LogCheck, type LogPlace } from './log-check.js';
import { readLeaves } from './read-leaves.js';

const EVENTS = 700;
const witness = noteSigner('witness.example', newSigningKey());

let log: AuditedLog;
let auditor: TestAuditor;
let sealed: Awaited<ReturnType<AuditedLog['setAside']>>;
beforeAll(async () => {
  const first = await AuditedLog.open();
  const one = first.auditor('one');
  for (const count of [300, 300, 100]) {
    await first.write(count);
    await one.seal();
    await one.watch.sign();
  }
  await one.watch.settled();
  sealed = await first.setAside();
});
beforeEach(async () => {
  log = await sealed.copy();
  auditor = log.auditor('one');
});
afterEach(() => log.close());
afterAll(() => sealed?.remove());

const sql = (text: string, values: unknown[] = []) => log.db.pool.query(text, values);

async function checkOf(findings: Finding[], from?: LogPlace): Promise<LogCheck> {
  const { db, store, signer } = log;
  const memory = auditor.folder.read();
  const keys = new LogKeys(signer);
  const told = toldHead(openBreaks(memory.breaks, (note) => keys.openBreak(note)));
  const signed = rememberedCheckpoint(keys, memory) as Checkpoint;
  return new LogCheck(
    {
      ...{ pool: db.pool, store, leaves: auditor.folder.leaves, keys, signed, told, breaks: memory.breaks.length },
      witnesses: [parseWitnessKey(witnessKeyOf(witness))],
      report: (finding) => Promise.resolve(void findings.push(finding)),
    },
    from,
  );
}

async function swept(): Promise<Finding[]> {
  const findings: Finding[] = [];
  const check = await checkOf(findings);
  while ((await check.next()) !== undefined);
  await check.finish();
  return findings;
}

/** A person tells a break, and the log is sealed anew. */
async function broken(): Promise<void> {
  await log.tell('one', 'a disk was lost');
  await auditor.watch.look();
  await auditor.seal();
  await auditor.watch.sign();
}

const TAKEN_OUT = (position: number): string =>
  `DELETE FROM event WHERE position = ${position};
   UPDATE event SET position = -position WHERE position > ${position};
   UPDATE event SET position = -position - 1 WHERE position < 0;
   UPDATE event_counter SET position = position - 1`;
const PUT_IN = (position: number): string =>
  `UPDATE event SET position = -position WHERE position > ${position};
   UPDATE event SET position = -position + 1 WHERE position < 0;
   INSERT INTO event SELECT ${position + 1}, 'made-up', 0, gen_random_uuid(), type, schema_version, data, metadata,
     recorded_at FROM event WHERE position = ${position};
   UPDATE event_counter SET position = position + 1`;
const FLIPPED = (table: string, column: string, where: string): string =>
  `UPDATE ${table} SET ${column} = set_byte(${column}, 7, get_byte(${column}, 7) # 4) WHERE ${where}`;

/** What an insider does, and what one sweep says of it: which kind, and where. Nothing else is said. */
const TAMPERINGS: [string, string, [string, RegExp][]][] = [
  ['the data of an old event', FLIPPED('event', 'data', 'position = 17'), [['event', /^leaf 16: .*position 17$/]]],
  ['the metadata of an event', FLIPPED('event', 'metadata', 'position = 600'), [['event', /^leaf 599: /]]],
  ['a space in its data', `UPDATE event SET data = data || ' '::bytea WHERE position = 5`, [['event', /^leaf 4: /]]],
  ['data that is not JSON any more', `UPDATE event SET data = '\\x00ff' WHERE position = 9`, [['event', /^leaf 8: /]]],
  [
    'the time of an event',
    `UPDATE event SET recorded_at = recorded_at - interval '1 s' WHERE position = 50`,
    [['event', /^leaf 49: /]],
  ],
  ['the id of an event', 'UPDATE event SET id = gen_random_uuid() WHERE position = 50', [['event', /^leaf 49: /]]],
  ['the type of an event', `UPDATE event SET type = 'Other' WHERE position = 50`, [['event', /^leaf 49: Other/]]],
  ['the stream of an event', `UPDATE event SET stream = 'x' WHERE position = 50`, [['event', /^leaf 49: /]]],
  [
    'two changed events',
    FLIPPED('event', 'data', 'position IN (30, 31)'),
    [
      ['event', /^leaf 29: /],
      ['event', /^leaf 30: /],
    ],
  ],
  ['an event taken out, a gap left', 'DELETE FROM event WHERE position = 40', [['event', /^leaf 39$/]]],
  [
    'ten events taken out, a gap left',
    'DELETE FROM event WHERE position BETWEEN 40 AND 49',
    [['event', /^leaves 39 to 48$/]],
  ],
  [
    'an event taken out, the later ones moved up',
    TAKEN_OUT(40),
    [
      ['event', /^leaf 39$/],
      ['page', /./],
    ],
  ],
  [
    'an event put in',
    PUT_IN(40),
    [
      ['event', /made-up, at position 41/],
      ['page', /./],
    ],
  ],
  [
    'an event put in before the first position',
    `INSERT INTO event SELECT 0, stream, 10, gen_random_uuid(), type, schema_version, data, metadata, recorded_at
       FROM event WHERE position = 1;
     INSERT INTO event SELECT -7, 'made-up', 0, gen_random_uuid(), type, schema_version, data, metadata, recorded_at
       FROM event WHERE position = 1`,
    [
      ['event', /^ThingHappened, version 0 of made-up, at position -7$/],
      ['event', /^ThingHappened, version 10 of thing-\S+, at position 0$/],
    ],
  ],
  [
    'the last events deleted',
    'DELETE FROM event WHERE position > 650',
    [
      ['event', /^leaves 650 to 699$/],
      ['event', /event_counter/],
    ],
  ],
  [
    'events moved',
    'UPDATE event SET position = position + 5 WHERE position = 700',
    [
      ['event', /position 705$/],
      ['page', /./],
      ['event', /event_counter/],
    ],
  ],
  ['the counter of the log', 'UPDATE event_counter SET position = 701', [['event', /event_counter/]]],
  [
    'a hash of the leaves',
    FLIPPED('audit_tile', 'hashes', 'level = 0 AND index = 1'),
    [['tile', /^tile 0\/1 .* hash 0 on/]],
  ],
  ['a hash of a higher level', FLIPPED('audit_tile', 'hashes', 'level = 1'), [['tile', /^tile 1\/0 /]]],
  ['a tile that is not full', FLIPPED('audit_tile', 'hashes', 'level = 0 AND index = 2'), [['tile', /^tile 0\/2 /]]],
  ['a tile taken away', 'DELETE FROM audit_tile WHERE level = 0 AND index = 0', [['tile', /^tile 0\/0 /]]],
  [
    'an event and its leaf',
    `${FLIPPED('event', 'data', 'position = 17')}; ${FLIPPED('audit_tile', 'hashes', 'level = 0 AND index = 0')}`,
    [
      ['event', /^leaf 16: /],
      ['tile', /^tile 0\/0 /],
    ],
  ],
  [
    'the positions of a page',
    'UPDATE audit_page SET last_position = last_position - 1 WHERE first_leaf = 7',
    [
      ['page', /leaf 7$/],
      ['page', /leaf 14$/],
    ],
  ],
  ['a page taken away', 'DELETE FROM audit_page WHERE first_leaf = 70', [['page', /leaf 70$/]]],
  [
    'a page put in behind the last',
    `INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form) VALUES (${EVENTS}, 0, 3, 2, 2)`,
    [['page', /leaf 700$/]],
  ],
  [
    'a page put in before the first',
    'INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form) VALUES (-2, 0, 3, 2, 2)',
    [['page', /leaf -2$/]],
  ],
  ['the last page taken away', 'DELETE FROM audit_page WHERE last_position = 700', [['page', /leaf 69\d$/]]],
  [
    'the root of an old checkpoint',
    FLIPPED('audit_checkpoint', 'root', 'size = 300'),
    [['checkpoint', /of 300 events/]],
  ],
  [
    'the note of an old checkpoint',
    `UPDATE audit_checkpoint SET note = replace(note, '300', '301') WHERE size = 300`,
    [['checkpoint', /of 300 events/]],
  ],
];

describe('one sweep of the log', () => {
  it('finds nothing where nothing was done, also while the log grows', async () => {
    expect(await swept()).toEqual([]);
    await log.write(30);
    await auditor.seal();
    expect(await swept()).toEqual([]);
  });

  it.each(TAMPERINGS)('finds: %s', async (_, tampering, expected) => {
    await sql(tampering);
    // Where events moved, every page behind them is another one: the first tells.
    const findings = (await swept()).filter(
      ({ what }, n, all) => what !== 'page' || all[n - 1]?.what !== 'page' || n < 2,
    );
    expect(findings.map(({ what }) => what)).toEqual(expected.map(([what]) => what));
    for (const [n, [, where]] of expected.entries()) expect(findings[n]?.where).toMatch(where);
  });

  it('finds any bit that was flipped in the log or in its tiles, and nothing else', async () => {
    const seed = process.env['SEED'] ?? randomBytes(4).toString('hex');
    process.stdout.write(`SEED=${seed}\n`);
    let state = Number.parseInt(seed, 16);
    const below = (n: number): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % n;
    for (let n = 0; n < 15; n += 1) {
      const column = ['data', 'metadata', 'hashes'][below(3)] as string;
      const [table, where] =
        column === 'hashes'
          ? ['audit_tile', `level = 0 AND index = ${below(3)}`]
          : ['event', `position = ${1 + below(EVENTS)}`];
      const { rows } = await sql(`SELECT octet_length(${column}) AS bytes FROM ${table} WHERE ${where}`);
      const bit = below((rows[0] as { bytes: number }).bytes * 8);
      const other = `set_bit(${column}, ${bit}, 1 - get_bit(${column}, ${bit}))`;
      const flip = `UPDATE ${table} SET ${column} = ${other} WHERE ${where}`;
      await sql(flip);
      expect([flip, (await swept()).map(({ what }) => what)]).toEqual([flip, [table === 'event' ? 'event' : 'tile']]);
      await sql(flip);
    }
    expect(await swept()).toEqual([]);
  }, 60_000);

  it('tells a damaged file of the folder from a changed log', async () => {
    const file = join(auditor.folder.path, 'leaves');
    const leaves = Buffer.concat(await auditor.folder.leaves.read(0, EVENTS));
    leaves[40 * 32] = (leaves[40 * 32] ?? 0) ^ 1;
    writeFileSync(file, leaves);
    expect(await swept()).toMatchObject([
      { what: 'memory', where: expect.stringMatching(/^leaf 40 in the file leaves/) },
    ]);
    // Without the file the tiles stand in, and are proven by the checkpoint.
    truncateSync(file, 0);
    expect(await swept()).toEqual([]);
    await sql(FLIPPED('event', 'data', 'position = 17'));
    expect(await swept()).toMatchObject([{ what: 'event', where: expect.stringMatching(/^leaf 16: /) }]);
  });

  it('goes on from a place as if it had never ended, from any page', async () => {
    await log.write(2_400);
    await auditor.seal();
    await auditor.watch.sign();
    await sql(FLIPPED('audit_tile', 'hashes', 'level = 1'));
    const whole = await swept();
    expect(whole).toHaveLength(1);
    const findings: Finding[] = [];
    let check = await checkOf(findings);
    while ((await check.next()) !== undefined)
      check = await checkOf(findings, JSON.parse(JSON.stringify(check.place)) as LogPlace);
    await check.finish();
    expect(findings).toEqual(whole);
  });

  it('finds a cosignature that is not what a witness said of the checkpoint, whoever the witness is', async () => {
    const { rows } = await sql('SELECT size, note FROM audit_checkpoint ORDER BY size');
    const checkpoints = rows as { size: bigint; note: string }[];
    const said = (note: string, name = witness.name): string =>
      cosign(noteText(note), { ...witness, name }, new Date('2026-03-01T10:00:00.000Z'));
    const keep = (size: bigint, name: string, line: string) =>
      sql('INSERT INTO audit_cosignature VALUES (0, $1, $2, $3, now())', [size, name, line]);
    for (const { size, note } of checkpoints)
      for (const name of [witness.name, 'not-asked.example']) await keep(size, name, said(note, name));
    expect(await swept()).toEqual([]);
    const [first, second, third] = checkpoints.map(({ note }) => note) as [string, string, string];
    for (const [name, line, found] of [
      [witness.name, said(first), /cosignature of witness\.example does not fit/],
      [witness.name, said(third, 'other.example'), /somebody else/],
      [witness.name, said(third) + said(third, 'other.example'), /somebody else/],
      ['not-asked.example', 'nothing', /is not a note/],
    ] as const) {
      const before = await sql('SELECT line FROM audit_cosignature WHERE size = 700 AND witness = $1', [name]);
      const put = (text: string) =>
        sql('UPDATE audit_cosignature SET line = $2 WHERE size = 700 AND witness = $1', [name, text]);
      await put(line);
      const where = `the cosignature of ${name} under 700 events in the table audit_cosignature`;
      expect(await swept()).toMatchObject([{ what: 'checkpoint', where, found: expect.stringMatching(found) }]);
      await put((before.rows[0] as { line: string }).line);
    }
    await keep(650n, witness.name, said(second));
    expect(await swept()).toMatchObject([{ what: 'checkpoint', found: 'no such checkpoint' }]);
  });

  it('is silent behind a break that a person told, gaps and all', async () => {
    await sql('DELETE FROM event WHERE position BETWEEN 40 AND 49');
    expect(await swept()).toHaveLength(1);
    await broken();
    expect(await swept()).toEqual([]);
  });

  it('holds every checkpoint from before a break, however many there are', async () => {
    await sql('UPDATE audit_tree SET size = 650');
    await broken();
    await sql(
      `INSERT INTO audit_checkpoint (breaks, size, root, note)
       SELECT 0, n, sha256('x'), 'made up' FROM generate_series(1001, 10000) AS n`,
    );
    const findings = await swept();
    expect(findings.map(({ what }) => what)).toEqual(Array(9_000).fill('checkpoint'));
    expect(findings.at(-1)?.where).toBe('the checkpoint of 10000 events in the table audit_checkpoint');
  });

  it('makes the same leaves of stored bytes as the auditor makes of events', async () => {
    const text = '"\\ ё 😀';
    await log.store.append(`odd-${text}`, 'none', [
      {
        ...(await log.store.readAll(0n, { limit: 1 })).events[0],
        id: crypto.randomUUID(),
        type: text,
        data: { text, n: 1e21 },
      } as never,
    ]);
    const { events } = await log.store.readAll(0n, { limit: 1_000 });
    const leaves = await readLeaves(
      { pool: log.db.pool, store: log.store },
      { after: 0n, limit: 1_000, forms: [2, 1] },
    );
    expect(leaves.map(({ hash, other }) => [hash, other?.hash])).toEqual(
      events.map((event) => [leafOf(event, 2), leafOf(event, 1)]),
    );
  });
});

describe('one sweep of the evidence', () => {
  const damaged = async (): Promise<string[]> => {
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await checkStored(log.db.pool, after, 1_000);
      found.push(...page.damaged.map(({ sha256, what }) => `${sha256} ${what}`));
      after = page.upTo;
    } while (after !== undefined);
    return found;
  };

  it('finds bytes that can be read and have another digest', async () => {
    const store = new PostgresEvidenceStore({ pool: log.db.pool });
    const keep = (bytes: Buffer) => store.put(bytes, 'application/xml');
    const [flipped, plain, otherPlain] = await Promise.all([
      keep(randomBytes(90)),
      keep(randomBytes(91)),
      keep(randomBytes(92)),
    ]);
    const [packed, otherPacked] = await Promise.all(
      ['a', 'b'].map((name) => keep(Buffer.from(`<${name}/>`.repeat(99)))),
    );
    const digests = [flipped, plain, otherPlain, packed, otherPacked].map((one) => Buffer.from(one as string, 'hex'));
    const { rows } = await sql('SELECT encoding FROM evidence WHERE sha256 = ANY ($1) ORDER BY encoding', [digests]);
    expect(rows.map(({ encoding }) => encoding)).toEqual([0, 0, 0, 1, 1]);
    await sql('UPDATE evidence SET content = set_bit(content, 70, 1 - get_bit(content, 70)) WHERE sha256 = $1', [
      digests[0],
    ]);
    for (const at of [1, 3])
      await sql(
        `UPDATE evidence SET (content, byte_length) = (SELECT content, byte_length FROM evidence WHERE sha256 = $2)
         WHERE sha256 = $1`,
        [digests[at], digests[at + 1]],
      );
    const found = await damaged();
    expect(found).toHaveLength(3);
    for (const sha256 of [flipped, plain, packed])
      expect(found.filter((one) => one.startsWith(`${sha256} its bytes have the digest `))).toHaveLength(1);
  });

  it('finds each that is not its digest, whatever was done to it, and what events name and is gone', async () => {
    const store = new PostgresEvidenceStore({ pool: log.db.pool });
    const digests = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        store.put(n % 2 === 0 ? randomBytes(100 + n) : Buffer.from(`<a>${n}</a>`.repeat(60)), 'application/xml'),
      ),
    );
    expect(await damaged()).toEqual([]);
    for (const [n, set] of [
      'content = set_bit(content, 70, 1 - get_bit(content, 70))',
      'byte_length = byte_length + 1',
      'encoding = 1 - encoding',
      'encoding = 5',
      `content = ''`,
    ].entries()) {
      const sha256 = digests[n * 7 + 1] as string;
      await sql(`UPDATE evidence SET ${set} WHERE sha256 = $1`, [Buffer.from(sha256, 'hex')]);
      expect((await damaged()).filter((one) => one.startsWith(sha256))).toHaveLength(1);
      expect(await damaged()).toHaveLength(n + 1);
    }
    const [first] = (await log.store.readAll(0n, { limit: 1 })).events;
    await log.store.append('document-1', 'none', [
      {
        ...first,
        id: crypto.randomUUID(),
        data: { documentSha256: digests[2], parts: [{ receiptSha256: digests[4] }], contentSha256: digests[5] },
      } as never,
    ]);
    await auditor.seal();
    await auditor.watch.sign();
    expect(await swept()).toEqual([]);
    await sql('DELETE FROM evidence WHERE sha256 = $1', [Buffer.from(digests[4] as string, 'hex')]);
    expect(await swept()).toMatchObject([
      { what: 'evidence', where: expect.stringContaining(`${digests[4]}, named by ThingHappened`), found: 'nothing' },
    ]);
    await sql('DELETE FROM evidence WHERE sha256 = $1', [Buffer.from(digests[5] as string, 'hex')]);
    expect((await swept()).map(({ where }) => where).join()).toContain(digests[5]);
  });

  it('says nothing of an event that was put in as the newest, with an earlier time', async () => {
    await sql(`INSERT INTO event SELECT ${EVENTS + 1}, 'made-up', 0, gen_random_uuid(), type, schema_version, data,
        metadata, recorded_at - interval '90 days' FROM event WHERE position = ${EVENTS};
      UPDATE event_counter SET position = position + 1`);
    await auditor.seal();
    expect((await auditor.watch.sign())?.size).toBe(EVENTS + 1);
    expect([await swept(), auditor.alarm.current()]).toEqual([[], undefined]);
  });

  it('finds that the body of a discarded letter is gone, or an answer of a list that only the list names', async () => {
    const store = new PostgresEvidenceStore({ pool: log.db.pool });
    const [body, ...pages] = await Promise.all([0, 1, 2].map((n) => store.put(Buffer.from(`{"n":${n}}`), 'a/b')));
    const lines = pages.map(
      (sha256, n) => `{"fetchedAt":"2026-03-01T10:00:00.000Z","page":${n + 1},"sha256":"${sha256}"}\n`,
    );
    const list = await store.put(Buffer.from(lines.join('')), 'application/x-ndjson');
    const [first] = (await log.store.readAll(0n, { limit: 1 })).events;
    const put = (stream: string, type: string, data: object) =>
      log.store.append(stream, 'none', [{ ...first, id: crypto.randomUUID(), type, data } as never]);
    await put('dead-letters', 'DeadLetterDiscarded', { bodySha256: body });
    await put('suspended-list', 'SuspendedListHeld', { answerSha256: list });
    await auditor.seal();
    await auditor.watch.sign();
    expect(await swept()).toEqual([]);
    for (const gone of [body, pages[1]])
      await sql('DELETE FROM evidence WHERE sha256 = $1', [Buffer.from(gone as string, 'hex')]);
    expect((await swept()).map(({ what, where, found }) => [what, where.split(', version')[0], found])).toEqual([
      ['evidence', `evidence ${body}, named by DeadLetterDiscarded`, 'nothing'],
      ['evidence', `evidence ${pages[1]}, named by SuspendedListHeld`, 'nothing'],
    ]);
    // What the list names cannot be read from a damaged one, which is told by itself.
    await sql('UPDATE evidence SET byte_length = 1 WHERE sha256 = $1', [Buffer.from(list, 'hex')]);
    expect((await swept()).map(({ where }) => where.split(',')[0])).toEqual([`evidence ${body}`]);
    expect((await damaged()).map((one) => one.slice(0, 64))).toEqual([list]);
  });
});
