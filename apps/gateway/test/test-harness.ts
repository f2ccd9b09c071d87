import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import {
  ABSENT,
  decide,
  documentStream,
  evolve,
  type DocumentCommand,
  type DocumentState,
  type Registration,
} from '#domain';
import { documentReading } from '#documents';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { projections } from '#read-models';
import { catchUpProjection } from '#subscriptions';
import { gatewayConfig, type GatewayConfig } from '../src/config.js';
import { startGateway, type RunningGateway } from '../src/gateway.js';
import { gatewaySchemas } from '../src/schemas.js';

export const SGTIN = '04600000000015ABCDE00100001';

/** An arrival (701) of these items. */
export const arrival = (items = `<sgtin>${SGTIN}</sgtin>`, operationDate = '2026-01-15T09:00:00+03:00'): string =>
  '<documents version="1.38"><accept action_id="701"><subject_id>00000000100101</subject_id>' +
  `<counterparty_id>00000000200101</counterparty_id><operation_date>${operationDate}</operation_date>` +
  `<order_details>${items}</order_details></accept></documents>`;

/** What `testDatabase()` of test/support gives to a spec. */
export interface Database {
  url: string;
  pool: Pool;
  drop(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The text as JSON; throws when it is none. */
  json<T = Record<string, unknown>>(): T;
}

/** A gateway over a database of its own, and what stands in for the worker behind it. */
export class TestHarness {
  private constructor(
    readonly db: Database,
    readonly gateway: RunningGateway,
    readonly environment: NodeJS.ProcessEnv,
    /** Everything that the gateway has logged. */
    readonly logged: Record<string, unknown>[],
    private readonly folder: string,
  ) {}

  /** Of the fresh database that it starts on; it makes them where they are not there. */
  static readonly schemas = gatewaySchemas;

  /** On a fresh database, which is dropped at the end. */
  static async start(db: Database, over: Partial<GatewayConfig> = {}): Promise<TestHarness> {
    const folder = mkdtempSync(join(tmpdir(), 'pedigree-gateway-'));
    writeFileSync(join(folder, 'accounts.json'), JSON.stringify([{ name: 'main' }, { name: 'north' }]));
    const environment = {
      DATABASE_URL: db.url,
      PORT: '0',
      LOG_LEVEL: 'silent',
      PEDIGREE_ACCOUNTS: join(folder, 'accounts.json'),
    };
    const logged: Record<string, unknown>[] = [];
    const write = (line: Buffer, _: unknown, done: () => void): void => {
      logged.push(JSON.parse(line.toString()) as Record<string, unknown>);
      done();
    };
    const log = pino({ level: 'info' }, new Writable({ write }));
    return new TestHarness(
      db,
      await startGateway({ ...gatewayConfig(environment), ...over }, log),
      environment,
      logged,
      folder,
    );
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.db.drop();
    rmSync(this.folder, { recursive: true });
  }

  async ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const { status, headers, ...answer } = await fetch(`${this.gateway.url}${path}`, init).then(async (one) => ({
      status: one.status,
      headers: one.headers,
      text: await one.text(),
    }));
    return { status, headers, ...answer, json: <T>() => JSON.parse(answer.text) as T };
  }

  post(body: string | Buffer | object, path = '/v1/commands'): Promise<Answer> {
    const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return this.ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: sent as never });
  }

  /** Posts lines, and gives the results line by line. */
  async postLines(lines: (string | object)[], path = '/v1/commands'): Promise<Record<string, unknown>[]> {
    const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    const answer = await this.ask(path, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body });
    return answer.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async registered(): Promise<number> {
    return Number((await this.db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM command')).rows[0]?.n);
  }

  /**
   * Runs a command as the worker would, gives its document these further commands, and brings every read model up to
   * date, unless nobody looks at them. Returns its request_id.
   */
  async run(commandId: string, commands: DocumentCommand[] = [], { projected = true } = {}): Promise<string> {
    const { rows } = await this.db.pool.query<{ payload: string }>(
      `SELECT payload FROM task WHERE key = (SELECT 'run_command:' || request_id FROM command WHERE command_id = $1)`,
      [commandId],
    );
    const { registration } = JSON.parse(rows[0]?.payload ?? 'null') as { registration: Registration };
    const store = new PostgresEventStore({ pool: this.db.pool });
    try {
      let state: DocumentState = ABSENT;
      for (const command of [{ type: 'Register', registration } as const, ...commands]) {
        const events = decide(state, command);
        state = events.reduce(evolve, state);
        await store.append(
          documentStream(registration.requestId),
          'any',
          events.map((event) => ({
            id: crypto.randomUUID(),
            type: event.type,
            schemaVersion: 1,
            data: event.data,
            metadata,
          })),
        );
      }
      const evidence = new PostgresEvidenceStore({ pool: this.db.pool });
      if (projected)
        for (const projection of projections({ evidence, documents: documentReading(), store }))
          await catchUpProjection({ projection, store, pool: this.db.pool });
    } finally {
      await store.close();
    }
    return registration.requestId;
  }
}

const metadata = {
  participant: 'test',
  actor: { kind: 'system', name: 'test', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'test',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'test',
  causationId: 'test',
} as const;
