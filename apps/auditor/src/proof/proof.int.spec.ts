import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PostgresEvidenceStore } from '#evidence';
import { sha256Hex } from '#kernel';
import { hashesInTiles, newSigningKey, noteSigner, proveInclusion, verifierKeyOf } from '#merkle';
import { leafBytes, type ProofLine, type ProvenEvent, type ProvenEvidence } from '#proofs';
import { catchUp } from '#subscriptions';
import { LeafPlaces, newestCheckpoint, proofLines, tilesIn } from '#sealed-log';
import { AuditedLog, ORIGIN, type TestAuditor } from '../../test/audited-log.js';
import { checkedEvents, countOf, eventsIn, headOf, provenLines, verifyLines, verifyText } from '../../test/proofs.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

const key = (): string => verifierKeyOf(log.signer);
const proof = (stream: string): Promise<ProofLine[]> => provenLines(log.db.pool, log.store, stream);

/** A stream of its own with so many events, sealed and signed. */
async function signed(count: number): Promise<string> {
  const stream = `thing-${randomUUID()}`;
  await log.append(
    stream,
    Array.from({ length: count }, (_, n) => ({ n, text: 'ü € "quoted"' })),
  );
  await auditor.seal();
  await auditor.watch.sign();
  return stream;
}

/** Counts, seals the event that has the counts, and signs. */
async function counted(): Promise<void> {
  await log.counting().advance();
  await auditor.seal();
  await auditor.watch.sign();
}

const changed = (lines: ProofLine[], change: (copy: ProofLine[]) => void): ProofLine[] => {
  const copy = structuredClone(lines);
  change(copy);
  return copy;
};
const first = (lines: ProofLine[]): ProvenEvent => eventsIn(lines)[0] as ProvenEvent;

describe('a proof of a stream', () => {
  it('shows each event to a stranger who has the file and the key', async () => {
    await signed(20);
    const stream = await signed(3);
    await signed(5);
    const lines = await proof(stream);
    const verified = await verifyLines(lines, key());
    expect(verified).toMatchObject({
      checkpoint: { origin: ORIGIN, size: 28 },
      events: 3,
      streams: [{ stream, events: 3, notYetSealed: 0, whole: undefined }],
    });
    expect(await checkedEvents(lines, key())).toMatchObject(
      [0, 1, 2].map((version) => ({ leaf: 20 + version, stream, version, type: 'ThingHappened', form: 2 })),
    );
    expect(JSON.parse(first(lines).data ?? '')).toEqual({ n: 0, text: 'ü € "quoted"' });
  });

  it('is not believed when an event, its content, place, path, the checkpoint or the key is another', async () => {
    const stream = await signed(3);
    await counted();
    const lines = await proof(stream);
    await verifyLines(lines, key());
    const wrong: [(copy: ProofLine[]) => void, RegExp][] = [
      [
        (copy) => (first(copy).data = first(copy).data?.replace('"n":0', '"n":1') ?? ''),
        /^line 4: the data is not what/,
      ],
      [(copy) => (first(copy).metadata += ' '), /^line 4: the metadata is not what the leaf names/],
      [(copy) => delete first(copy).data, /^line 4: the data or metadata that the leaf names is not here/],
      [(copy) => (first(copy).entry = first(copy).entry.replace('Thing', 'Other')), /^line 4: is not the leaf/],
      [(copy) => (first(copy).proof = first(copy).proof.replace('index 0', 'index 1')), /^line 4: is not the leaf/],
      [(copy) => (first(copy).proof = eventsIn(copy)[1]?.proof ?? ''), /^line 4: is not the leaf/],
      [
        (copy) => (headOf(copy).checkpoint = headOf(copy).checkpoint.replace(/\n\d+\n/, '\n7\n')),
        /^\/checkpoint: the signature/,
      ],
      [(copy) => copy.shift(), /^the proof is not JSON: /],
      [(copy) => copy.pop(), /^behind line 6: the proof is cut off/],
      [(copy) => copy.push({ end: { streams: 1, events: 3 } }), /^line 8: comes behind the end/],
    ];
    for (const [change, why] of wrong) await expect(verifyLines(changed(lines, change), key())).rejects.toThrow(why);
    await expect(verifyLines(lines, verifierKeyOf(noteSigner(ORIGIN, newSigningKey())))).rejects.toThrow(
      /^\/checkpoint: the note carries no signature/,
    );
  });

  it('is refused with the place wherever one byte of it is another', async () => {
    const stream = await signed(2);
    await counted();
    const text = (await proof(stream)).map((line) => JSON.stringify(line)).join('\n');
    for (let at = 0; at < text.length; at += 31) {
      const code = text.charCodeAt(at);
      const flipped = text.slice(0, at) + String.fromCharCode(code === 0x41 ? 0x42 : 0x41) + text.slice(at + 1);
      const outcome = await verifyText(flipped, key()).then(
        ({ streams }) => streams[0],
        (error: Error) => error.message,
      );
      // What the file says of newer events is its own word, and is said to be.
      if (typeof outcome !== 'string') expect(outcome).toMatchObject({ stream, events: 2, whole: { events: 2 } });
      else expect(outcome).toMatch(/^(line \d|\/checkpoint|behind line|the proof is not JSON|\/)/);
    }
  });

  it('demands versions from 0 on, each once, in order, of one stream', async () => {
    const [stream, other] = [await signed(4), await signed(4)];
    const lines = await proof(stream);
    const strangers = eventsIn(await proof(other));
    const without = (n: number) => (copy: ProofLine[]) => {
      copy.splice(2 + n, 1);
      copy.splice(1, 1, { stream, events: 3, notYetSealed: 0 });
      copy.splice(-1, 1, { end: { streams: 1, events: 3 } });
    };
    const wrong: [(copy: ProofLine[]) => void, RegExp][] = [
      [without(0), /^line 3: version 1 of thing-.* comes where version 0 belongs/],
      [without(1), /^line 4: version 2 of thing-.* comes where version 1 belongs/],
      [(copy) => copy.splice(2, 2, copy[3] as ProofLine, copy[2] as ProofLine), /^line 3: version 1 .* version 0/],
      [(copy) => copy.splice(3, 0, copy[2] as ProofLine), /^line 4: version 0 of .* comes where version 1 belongs/],
      [(copy) => copy.splice(3, 1, strangers[1] as ProofLine), /^line 4: the event is one of the stream thing-/],
      [(copy) => copy.splice(5, 1), /^line 6: the proof says that it has 4 events of thing-.*, and has 3/],
      [(copy) => (copy[copy.length - 1] = { end: { streams: 1, events: 5 } }), /^line 7\/end: .* has 5 events/],
    ];
    for (const [change, why] of wrong) await expect(verifyLines(changed(lines, change), key())).rejects.toThrow(why);
    // The last ones can be left out of a proof without a count; it says that it does not show that none is missing.
    expect((await verifyLines(changed(lines, without(3)), key())).streams[0]?.whole).toBeUndefined();
  });

  it('holds every event of a stream that is longer than one read of the log gives', async () => {
    const stream = 'long';
    for (let n = 0; n < 10_500; n += 1_000)
      await log.append(
        stream,
        Array.from({ length: Math.min(1_000, 10_500 - n) }, (_, i) => ({ n: n + i })),
      );
    const handle = auditor.watch.seal;
    await catchUp({ store: log.store, pool: log.db.pool, name: 'auditor', handle, batchSize: 1_000 });
    await auditor.watch.sign();
    await counted();
    const { streams } = await verifyLines(await proof(stream), key());
    expect(streams).toEqual([
      { stream, events: 10_500, notYetSealed: 0, whole: { leaves: 10_500, events: 10_500, at: expect.any(String) } },
    ]);
  }, 300_000);

  it('says how many events are not signed yet, and that none is', async () => {
    const stream = await signed(2);
    await log.append(stream, [{}, {}, {}]);
    expect((await verifyLines(await proof(stream), key())).streams).toMatchObject([{ events: 2, notYetSealed: 3 }]);
    await log.append('new', [{}]);
    await expect(proof('new')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(proof('nobody')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the evidence that events name', () => {
  it('is in the proof byte for byte, once; what is too long or gone is counted', async () => {
    const store = new PostgresEvidenceStore({ pool: log.db.pool });
    const [one, two, gone] = [
      await store.put(Buffer.from('<a/>'), 'application/xml'),
      await store.put(Buffer.from('<b/>'), 'application/xml'),
      sha256Hex('never stored'),
    ];
    await log.append('thing', [
      { documentSha256: one },
      { receiptSha256: two, documentSha256: one },
      { answerSha256: gone },
    ]);
    await auditor.seal();
    await auditor.watch.sign();
    const lines = await proof('thing');
    expect(lines.flatMap((line) => ('evidence' in line ? [line.bytes] : []))).toEqual([
      Buffer.from('<a/>').toString('base64'),
      Buffer.from('<b/>').toString('base64'),
    ]);
    expect((await verifyLines(lines, key())).evidence).toEqual({ here: 2, notHere: 1 });
    const piece = (copy: ProofLine[]): ProvenEvidence => copy.find((line) => 'evidence' in line) as ProvenEvidence;
    const wrong: [(copy: ProofLine[]) => void, RegExp][] = [
      [(copy) => (piece(copy).bytes = Buffer.from('<c/>').toString('base64')), /^line 4\/evidence: the bytes are not/],
      [(copy) => (piece(copy).length = 5), /^line 4\/evidence: the bytes are not the evidence/],
      [(copy) => (piece(copy).evidence = two), /^line 4\/evidence: no event before this line names/],
    ];
    for (const [change, why] of wrong) await expect(verifyLines(changed(lines, change), key())).rejects.toThrow(why);
    const bare: ProofLine[] = [];
    for await (const line of proofLines({ pool: log.db.pool, store: log.store }, 'thing', { hasEvidence: false }))
      bare.push(line);
    expect((await verifyLines(bare, key())).evidence).toEqual({ here: 0, notHere: 3 });
  });
});

describe('leaves of the older form', () => {
  /** A log whose first leaves a version before has sealed. */
  async function upgraded(): Promise<{ old: string; both: string; fresh: string }> {
    await log.append('old', [{ n: 0 }, { n: 1 }]);
    await log.append('both', [{ n: 0 }]);
    await log.sealOldForm();
    await auditor.watch.sign();
    await log.append('both', [{ n: 1 }, { text: 'x'.repeat(70_000) }]);
    const fresh = await signed(2);
    await counted();
    return { old: 'old', both: 'both', fresh };
  }

  it('are proven beside the new ones, in one stream too, and only as the log has them', async () => {
    const { old, both, fresh } = await upgraded();
    for (const [stream, forms] of [
      [old, [1, 1]],
      [both, [1, 2, 2]],
      [fresh, [2, 2]],
    ] as const) {
      const lines = await proof(stream);
      expect((await checkedEvents(lines, key())).map(({ form }) => form)).toEqual(forms);
      expect((await verifyLines(lines, key())).streams[0]?.whole).toMatchObject({ events: forms.length });
      for (const [n, form] of forms.entries()) {
        const rewritten = changed(lines, (copy) => {
          const event = eventsIn(copy)[n] as ProvenEvent;
          if (form === 1) event.entry = event.entry.replace(/"n":\d/, '"n":7');
          else event.data = '{"n":7}';
        });
        await expect(verifyLines(rewritten, key())).rejects.toThrow(/^line \d: (is not the leaf|the data is not what)/);
      }
    }
    const added = changed(await proof(old), (copy) => (first(copy).data = '{"n":0}'));
    await expect(verifyLines(added, key())).rejects.toThrow(
      /^line 4: has data or metadata beside a leaf that has them/,
    );
  });

  it('are refused behind the leaf from which on leaves name digests', async () => {
    const { both } = await upgraded();
    await log.append(both, [{ n: 3 }]);
    await log.append('late', [{ n: 0 }]);
    await log.sealOldForm();
    await auditor.watch.sign();
    await expect(verifyLines(await proof(both), key())).rejects.toThrow(
      /^line 7: leaf 8 has the older form, and leaves name digests from 3 on/,
    );
    await expect(verifyLines(await proof('late'), key())).rejects.toThrow(/^line 4: leaf \d+ has the older form/);
  });

  it('hold in a proof that a version before has written', async () => {
    const { old } = await upgraded();
    const checkpoint = await newestCheckpoint(log.db.pool);
    const places = new LeafPlaces(log.db.pool, log.store);
    const events = [];
    for (const event of await log.store.readStream(old)) {
      const { leaf = -1 } = (await places.of(event)) ?? {};
      const path = await proveInclusion(leaf, checkpoint?.size ?? 0, hashesInTiles(tilesIn(log.db.pool)));
      events.push({
        leaf,
        event: leafBytes(event, 1).toString('utf8'),
        path: path.map((hash) => hash.toString('hex')),
      });
    }
    const bundle = { format: 'pedigree-proof/1', checkpoint: checkpoint?.note, events, notYetSealed: 0 };
    const text = JSON.stringify(bundle, null, 2);
    expect((await verifyText(text, key())).streams).toEqual([
      { stream: 'old', events: 2, notYetSealed: 0, whole: undefined },
    ]);
    await expect(verifyText(text.replace('\\"n\\":1', '\\"n\\":2'), key())).rejects.toThrow(
      /^\/events\/1: is not the leaf of the signed log/,
    );
    for (const [other, why] of [
      ['{"format":"other"}', /^\/format/],
      ['no', /not JSON/],
      ['', /not JSON/],
    ] as const)
      await expect(verifyText(other, key())).rejects.toThrow(why);
  });

  it('keep a program of the version before from sealing behind the new ones', async () => {
    await upgraded();
    const insert = 'INSERT INTO audit_page (first_leaf, after_position, last_position, leaves) VALUES (90, 90, 91, 1)';
    await expect(log.db.pool.query(insert)).rejects.toThrow(/null value in column "form"/);
  });
});

describe('the count of a stream', () => {
  it('shows that no event was left out, and of later ones that this is not shown', async () => {
    const stream = await signed(4);
    await counted();
    const whole = { leaves: 4, events: 4, at: expect.any(String) };
    expect((await verifyLines(await proof(stream), key())).streams).toMatchObject([{ events: 4, whole }]);
    await log.append(stream, [{}, {}]);
    await auditor.seal();
    await auditor.watch.sign();
    expect((await verifyLines(await proof(stream), key())).streams).toMatchObject([{ events: 6, whole }]);
  });

  it('refuses a proof that leaves out the last event, or has the count of another stream', async () => {
    const [stream, other] = [await signed(4), await signed(3)];
    await counted();
    const lines = await proof(stream);
    const cut = changed(lines, (copy) => {
      copy.splice(-2, 1);
      copy.splice(1, 1, { stream, events: 3, notYetSealed: 0 });
      copy.splice(-1, 1, { end: { streams: 1, events: 3 } });
    });
    await expect(verifyLines(cut, key())).rejects.toThrow(
      `the log has 4 events of ${stream} before leaf 7, and the proof has 3`,
    );
    const others = countOf(await proof(other));
    const wrong: [(copy: ProofLine[]) => void, RegExp][] = [
      [(copy) => (countOf(copy).bucket = others.bucket), /^line 3\/count: the bucket is not that of thing-/],
      [(copy) => Object.assign(countOf(copy), others), /^line 3\/count: the bucket is not that of thing-/],
      [(copy) => (countOf(copy).path[3] = countOf(copy).path[4] ?? ''), /^line 3\/count: the bucket is not that/],
      [(copy) => (countOf(copy).statement = first(copy)), /^line 3\/count\/statement: is an event ThingHappened/],
    ];
    for (const [change, why] of wrong) await expect(verifyLines(changed(lines, change), key())).rejects.toThrow(why);
  });

  it('is believed by the signature of the auditor alone, not because its event is in the log', async () => {
    const stream = await signed(4);
    await counted();
    const [statement] = await log.store.readStream('audit-counts');
    const note = (statement?.data as { note: string }).note;
    await log.store.append('audit-counts', 'any', [
      {
        id: randomUUID(),
        type: 'StreamCountsSealed',
        schemaVersion: 1,
        data: { leaves: 4, streams: 1, note: note.replace('leaves 4', 'leaves 3') },
        metadata: statement?.metadata as never,
      },
    ]);
    await auditor.seal();
    await auditor.watch.sign();
    const forged = eventsIn(await proof('audit-counts'))[1] as ProvenEvent;
    const lines = changed(await proof(stream), (copy) => (countOf(copy).statement = forged));
    await expect(verifyLines(lines, key())).rejects.toThrow(
      /^line 3\/count\/statement: the signature of .* does not fit the text/,
    );
  });
});
