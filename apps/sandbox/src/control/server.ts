import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { orderAct, orderClaim, orderOutside, orderShipment, setCounterparties } from '../counterparties/control.js';
import { warn } from '../expiry/write-off.js';
import { FAULTS } from '../faults/faults.js';
import { breakOff, jsonAnswer, writeAnswer, type Answer } from '../http/answer.js';
import { jsonObjectOf, readBody } from '../http/body.js';
import { Refusal, refuse } from '../http/refusal.js';
import type { Registry } from '../registry.js';
import {
  clockTruth,
  containerTruth,
  documentsTruth,
  limitsTruth,
  packTruth,
  filesTruth,
  summaryTruth,
} from './truth.js';

interface ControlCall {
  registry: Registry;
  /** What follows the route's path. */
  rest: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

type ControlRoute = (call: ControlCall) => unknown;

/** Everything that the control port does; a path that ends in / takes a value after it. */
const ROUTES: Record<string, ControlRoute> = {
  // Who answers: after a crash the caller's notes may be old, and the port another sandbox's.
  'GET /health': ({ registry }) => ({ status: 'ok', pid: process.pid, dataDir: registry.settings.dataDir ?? null }),
  'GET /clock': ({ registry }) => clockTruth(registry),
  'POST /clock': ({ registry, body }) => moveClock(registry, body),
  'GET /truth/documents': ({ registry, query }) => documentsTruth(registry, query),
  'GET /truth/files/': ({ registry, rest }) => filesTruth(registry, rest),
  'GET /truth/packs/': ({ registry, rest }) => packTruth(registry, rest),
  'GET /truth/sscc/': ({ registry, rest }) => containerTruth(registry, rest),
  'GET /truth/tokens': ({ registry }) => ({ tokens: registry.sessions.counts() }),
  'GET /truth/calls': ({ registry }) => ({
    calls: registry.calls.report(),
    count: registry.calls.total,
    rateLimited: registry.calls.rateLimited,
  }),
  'DELETE /truth/calls': ({ registry }) => cleared(registry.calls),
  'GET /truth/summary': ({ registry }) => summaryTruth(registry),
  'GET /violations': ({ registry }) => ({ ...registry.violations.report(), rateLimited: registry.calls.rateLimited }),
  'DELETE /violations': ({ registry }) => cleared(registry.violations),
  'POST /plant': ({ registry, body }) => ({ ...registry.plant(body), shows: PLANTED }),
  'POST /incoming': ({ registry, body }) => deliver(registry, body),
  'POST /accounts/block': ({ registry, body }) => registry.block(body),
  'POST /accounts/rights': ({ registry, body }) => registry.allow(body),
  'POST /accounts': ({ registry, body }) => registry.admit(body),
  'GET /limits': ({ registry }) => limitsTruth(registry),
  'POST /limits': ({ registry, body }) => setLimits(registry, body),
  'GET /counterparties': ({ registry }) => registry.counterparties.knobs,
  'POST /counterparties': ({ registry, body }) => setCounterparties(registry, body),
  'POST /counterparties/ship': ({ registry, body }) => orderShipment(registry, body),
  'POST /counterparties/reverse': ({ registry, body }) => orderClaim(registry, body),
  'POST /counterparties/act': ({ registry, body }) => orderAct(registry, body),
  'POST /outside': ({ registry, body }) => orderOutside(registry, body),
  'GET /truth/groups': ({ registry }) => ({ groups: registry.intake.groups.truth() }),
  'GET /misbehaviour': ({ registry }) => ({ knobs: registry.faults.misbehaviour.report() }),
  'POST /misbehaviour': ({ registry, body }) => setMisbehaviour(registry, body),
  'POST /suspensions': ({ registry, body }) => registry.suspend(body),
  'GET /truth/suspensions': ({ registry }) => ({ decisions: registry.packs.suspensions.decisions }),
  'POST /write-off': ({ registry, body }) => registry.writeOff(body),
  'POST /attention': ({ registry, body }) => ({
    document_id: warn(registry, body, registry.processing.drainNow()),
  }),
  'POST /awaiting': ({ registry, body }) => registry.await(body),
  'GET /faults': ({ registry }) => ({ known: FAULTS, open: registry.faults.open() }),
  'POST /faults': ({ registry, body }) => registry.faults.add(body),
  'DELETE /faults': ({ registry }) => cleared(registry.faults),
};

const PLANTED =
  'now, in the registers of packs; no document and no notification tells of it, and what has a transfer awaits its 701';
const LOCAL_HOST = /^(127\.0\.0\.1|localhost)(:\d+)?$/i;
const MAX_BODY_BYTES = 32 << 20;
const LONGEST_PREFIX_FIRST = Object.keys(ROUTES)
  .filter((route) => route.endsWith('/'))
  .sort((a, b) => b.length - a.length);

/**
 * The control server: it tells the truth about the state and moves clocks, limits and faults. No sign-in, so loopback
 * only, and no web pages.
 */
export function controlServer(registry: Registry): Server {
  return createServer({ headersTimeout: 10_000, requestTimeout: 60_000 }, (request, response) => {
    void (async () => {
      let answer: Answer;
      try {
        refusePages(request);
        const raw = await readBody(request, MAX_BODY_BYTES);
        const url = new URL(request.url ?? '/', 'http://control');
        const { route, rest } = find(`${request.method} ${decodeURIComponent(url.pathname)}`);
        const body = request.method === 'POST' ? jsonObjectOf(raw) : {};
        answer = jsonAnswer(200, route({ registry, rest, query: url.searchParams, body }));
      } catch (error) {
        const status = error instanceof Refusal ? error.httpStatus : 400;
        answer = jsonAnswer(status, { error_description: (error as Error).message });
      }
      if (!response.destroyed) writeAnswer(response, answer);
    })().catch((error: unknown) => breakOff(response, error));
  });
}

/**
 * Refuses what a web page may have sent: a browser names the page's site in Origin with every call that could change
 * something, and in Host the name that it was given for this machine, which programs call by its address.
 */
function refusePages({ headers }: IncomingMessage): void {
  if (headers.origin !== undefined) throw refuse(403, 'the control port serves no web page: send no Origin');
  if (!LOCAL_HOST.test(headers.host ?? ''))
    throw refuse(403, 'the control port serves this machine only: call it by 127.0.0.1 or localhost');
}

function find(path: string): { route: ControlRoute; rest: string } {
  const exact = ROUTES[path];
  if (exact !== undefined) return { route: exact, rest: '' };
  const prefix = LONGEST_PREFIX_FIRST.find((one) => path.startsWith(one));
  if (prefix === undefined)
    throw refuse(404, `the control port has no ${path}; it has ${Object.keys(ROUTES).join(', ')}`);
  return { route: ROUTES[prefix] as ControlRoute, rest: path.slice(prefix.length) };
}

function cleared(ledger: { clear(): void }): unknown {
  ledger.clear();
  return { cleared: true };
}

function moveClock(registry: Registry, { advanceMs, setTo, speed }: Record<string, unknown>): unknown {
  if (advanceMs === undefined && setTo === undefined && speed === undefined)
    throw refuse(400, 'advanceMs, setTo or speed is expected');
  if (speed !== undefined && !(isFrom0(speed) && speed > 0 && speed <= 1e6))
    throw refuse(400, 'speed must be a number above 0');
  if (advanceMs !== undefined && !isFrom0(advanceMs)) throw refuse(400, 'advanceMs must be a number from 0');
  const toVirtualMs = setTo === undefined ? laterBy(advanceMs, registry) : instantOf(setTo);
  registry.moveClock({ toVirtualMs, speed });
  return clockTruth(registry);
}

const laterBy = (advanceMs: number | undefined, { clock }: Registry): number | undefined =>
  advanceMs === undefined ? undefined : clock.nowMs() + advanceMs;
const isFrom0 = (value: unknown): value is number => typeof value === 'number' && value >= 0;

/** An instant as text, or in Unix milliseconds. */
function instantOf(setTo: unknown): number {
  const virtualMs = typeof setTo === 'string' ? Date.parse(setTo) : Number(setTo);
  if (Number.isNaN(virtualMs)) throw refuse(400, 'setTo must be an instant');
  return virtualMs;
}

function setMisbehaviour(registry: Registry, { rate, knobs, ...rest }: Record<string, unknown>): unknown {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined || (rate === undefined && knobs === undefined))
    throw refuse(400, 'rate or knobs is expected');
  registry.faults.misbehaviour.set({ rate, knobs });
  return { knobs: registry.faults.misbehaviour.report() };
}

function setLimits(registry: Registry, body: Record<string, unknown>): unknown {
  const { on, off, intervalMs } = body;
  if (on === undefined && off === undefined && intervalMs === undefined)
    throw refuse(400, 'on, off or intervalMs is expected');
  if (on !== undefined || off !== undefined) registry.limits.enabled = on === true || off === false;
  if (intervalMs === null) registry.limits.intervalMs = undefined;
  else if (typeof intervalMs === 'number' && intervalMs >= 0) registry.limits.intervalMs = intervalMs;
  else if (intervalMs !== undefined)
    throw refuse(400, 'intervalMs must be a number from 0, or null for the intervals of the profile');
  return limitsTruth(registry);
}

function deliver(registry: Registry, body: Record<string, unknown>): unknown {
  const { from, to, xml, request_id: requestId = randomUUID() } = body;
  const { participants } = registry.world;
  for (const key of [from, to]) {
    if (typeof key !== 'string' || !participants.has(key))
      throw refuse(400, `from and to must be keys of participants: ${[...participants.keys()].join(', ')}`);
  }
  if (typeof xml !== 'string') throw refuse(400, 'xml is missing');
  const document = registry.intake.deliver({
    id: randomUUID(),
    requestId: String(requestId),
    from: from as string,
    to: to as string,
    xml: Buffer.from(xml),
  });
  return { document_id: document.documentId, request_id: document.requestId };
}
