import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  caseIdOf,
  caseStream,
  decideCase,
  evolveCase,
  NO_CASE,
  partOf,
  type CaseCause,
  type CaseCommand,
  type CaseState,
} from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventMetadata } from '#event-store';
import { inTransaction, installationSchema, migrate } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { jsonDocuments, LogOfTest } from '../../test/fixture.js';
import { cloudEventOf, OUTCOME_TOPICS, type OutcomeType } from '../outbox/cloud-event.js';
import { outboxProjection } from '../outbox/projection.js';
import { readModelSchemas } from '../schema.js';
import { caseFigures } from './query.js';
import { casesProjection } from './projection.js';
import type { CaseRow } from './row.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const METADATA: EventMetadata = {
  ...{
    participant: 'own',
    actor: { kind: 'system' as const, name: 't', authenticatedBy: 'process' },
    softwareVersion: '1',
  },
  ...{ profile: 'none', effectiveAt: '2026-03-01T00:00:00.000Z', correlationId: 'c', causationId: 'c' },
};
const DIGEST = 'a'.repeat(64);
const CASES = 12;
const COMMANDS = 400;

let db: TestDatabase;
let store: PostgresEventStore;
const states = new Map<string, CaseState>();

beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [installationSchema, eventStoreSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
  await aYear();
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const CAUSES: CaseCause[] = Array.from({ length: CASES }, (_, n) => {
  if (n % 4 === 0) return { kind: 'document', document: `r-${n}` };
  if (n % 4 === 1) return { kind: 'container', container: `04601234567890${String(n).padStart(4, '0')}` };
  if (n % 4 === 2) return { kind: 'series', gtin: '04600000000015', series: n % 8 === 2 ? null : `S${n}`, place: 'P1' };
  return partOf('0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55', [`04600000000015${String(n).padStart(13, '0')}`]);
});

/** Commands of every sort to some cases, as runs and persons give them in a year; most of them lead to an event. */
async function aYear(): Promise<void> {
  let seed = SEED;
  const choose = (most: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % most;
  };
  for (let n = 0; n < COMMANDS; n += 1) {
    const cause = CAUSES[choose(CASES)] as CaseCause;
    const caseId = caseIdOf('missing_locally', cause);
    const state = states.get(caseId) ?? NO_CASE;
    const command = commandOf({ caseId, cause, day: n, choose });
    const events = decideCase(state, command);
    if (events.length === 0) continue;
    await store.append(
      caseStream(caseId),
      'any',
      events.map(({ type, data }) => ({ id: randomUUID(), type, schemaVersion: 1, data, metadata: METADATA })),
    );
    states.set(caseId, events.reduce(evolveCase, state));
  }
}

interface Given {
  caseId: string;
  cause: CaseCause;
  day: number;
  choose(most: number): number;
}

function commandOf({ caseId, cause, day, choose }: Given): CaseCommand {
  const at = new Date(Date.parse('2026-03-01T00:00:00.000Z') + day * 3_600_000).toISOString();
  const run = { kind: 'packs', id: `run-${day}`, moment: at } as const;
  const seen = { run, count: 1 + choose(1_000), findingsSha256: DIGEST };
  const severity = (['critical', 'warning', 'information'] as const)[choose(3)] ?? 'critical';
  const [code, dueAt] = ['missing_locally', new Date(Date.parse(at) + choose(40) * 86_400_000).toISOString()];
  const all: CaseCommand[] = [
    { type: 'See', caseId, code, cause, severity, dueAt, seen },
    { type: 'See', caseId, code, cause, severity, dueAt, seen },
    { type: 'Miss', caseId, run, findingsSha256: DIGEST },
    { type: 'Acknowledge', caseId },
    { type: 'Assign', caseId, assignee: choose(2) === 0 ? null : 'anna' },
    { type: 'Comment', caseId, text: 'looked' },
    { type: 'Explain', caseId, text: 'it will pass' },
    { type: 'Resolve', caseId, at, by: { kind: 'person', resolution: 'other', note: 'done' } },
    { type: 'Reopen', caseId, at, dueAt },
    { type: 'Split', caseId, part: randomUUID(), items: ['x'], count: 1 },
    { type: 'ReleaseRemedy', caseId, action: 'resend', commandId: 'c', requestId: 'r' },
    { type: 'ConcludeRemedy', caseId, at, requestId: 'r', outcome: choose(2) === 0 ? 'accepted' : 'rejected' },
  ];
  return all[choose(all.length)] as CaseCommand;
}

const events = async () => (await store.readAll(0n, { filter: { streamPrefixes: ['case-'] }, limit: 5_000 })).events;

async function rebuilt(pageSize: number): Promise<string[]> {
  const projection = casesProjection();
  const all = await events();
  await emptyTables(db.pool, projection);
  for (let from = 0; from < all.length; from += pageSize)
    await inTransaction(db.pool, (tx) => projection.project(all.slice(from, from + pageSize), tx));
  const { rows } = await db.pool.query<{ line: string }>(
    'SELECT row(c.*)::text AS line FROM reconciliation_case c ORDER BY case_id',
  );
  return rows.map(({ line }) => line);
}

describe(`the read model of cases (seed ${SEED})`, () => {
  it('comes out the same whatever its pages, and when an event comes twice', async () => {
    const whole = await rebuilt(5_000);
    expect(whole.length).toBeGreaterThan(CASES / 2);
    expect(await rebuilt(1)).toEqual(whole);
    expect(await rebuilt(7)).toEqual(whole);
    await inTransaction(db.pool, async (tx) => casesProjection().project((await events()).slice(0, 20), tx));
    const { rows } = await db.pool.query<{ line: string }>(
      'SELECT row(c.*)::text AS line FROM reconciliation_case c ORDER BY case_id',
    );
    expect(rows.map(({ line }) => line)).toEqual(whole);
  });

  it('has the state of each stream with its version: by that a run decides', async () => {
    const { rows } = await db.pool.query<Pick<CaseRow, 'caseId' | 'version' | 'state' | 'phase'>>(
      'SELECT case_id AS "caseId", version, state, phase FROM reconciliation_case',
    );
    expect(rows.map(({ caseId }) => caseId).sort()).toEqual([...states.keys()].sort());
    for (const { caseId, version, state, phase } of rows) {
      expect({ ...state, phase }).toEqual(states.get(caseId));
      expect((await store.readStream(caseStream(caseId))).at(-1)?.version).toBe(version);
    }
  });

  it('counts what is unresolved and what is overdue', async () => {
    const known = [...states.values()].flatMap((one) => (one.phase === 'absent' ? [] : [one]));
    const now = new Date('2026-03-10T00:00:00.000Z');
    const unresolved = known.filter(({ phase }) => phase !== 'resolved');
    const overdue = unresolved.filter(({ phase, dueAt }) => phase !== 'explained' && dueAt < now.toISOString());
    const figures = await caseFigures(db.pool, now);
    const sum = (of: 'unresolved' | 'overdue'): number => figures.reduce((all, one) => all + one[of], 0);
    expect([sum('unresolved'), sum('overdue')]).toEqual([unresolved.length, overdue.length]);
  });

  it('is told to the ERP: opened, reopened and resolved, and nothing else, each as documented', async () => {
    const evidence = new LogOfTest().evidence;
    const projection = outboxProjection({ evidence, documents: jsonDocuments, store });
    const all = await events();
    const wanted = all.filter(({ type }) => projection.filter.types?.includes(type));
    expect(new Set(wanted.map(({ type }) => type))).toEqual(new Set(['CaseOpened', 'CaseReopened', 'CaseResolved']));
    await inTransaction(db.pool, (tx) => projection.project(wanted, tx));
    const { rows } = await db.pool.query<{ type: OutcomeType; topic: string; body: string; position: bigint }>(
      'SELECT type, topic, body, position FROM outcome_event ORDER BY position',
    );
    expect(rows.map(({ position }) => position)).toEqual(wanted.map(({ position }) => position));
    for (const { type, topic, body } of rows) {
      expect(cloudEventOf(type).safeParse(JSON.parse(body)).error?.issues ?? []).toEqual([]);
      expect(OUTCOME_TOPICS[type]).toContain(topic);
    }
    expect(new Set(rows.map(({ type }) => type))).toEqual(
      new Set(['pedigree.case.opened.v1', 'pedigree.case.resolved.v1']),
    );
  });
});
