import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { notHere } from '../operations/not-here.js';
import { INTERNAL_PREFIXES, OPEN_OPERATIONS, USER_OPERATIONS } from '../operations/table.js';
import type { Duplex } from 'node:stream';
import type { Call, UserCall } from '../operations/call.js';
import type { Account } from '../packs/world.js';
import { DEPRECATED_METHODS } from '../registries/deprecated.js';
import { REGISTRY_OPERATIONS } from '../registries/table.js';
import { refuseWithoutRight } from '../accounts/rights.js';
import type { Registry } from '../registry.js';
import { breakOff, cutAnswer, htmlAnswer, jsonAnswer, springAnswer, writeAnswer, type Answer } from './answer.js';
import { MAX_UPLOAD_BYTES } from '../uploads/uploads.js';
import type { Tls } from './certificates.js';
import { CallerGone, jsonObjectOf, readBody } from './body.js';
import { Refusal, refuse } from './refusal.js';
import { errorDescription } from './said.js';
import { Router, type Route } from './router.js';

const OPTIONS = {
  requireHostHeader: false,
  maxHeaderSize: 64 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
};

/** The registry's own HTTP server; with `tls` it speaks that alone. */
export function publicServer(registry: Registry, tls?: Tls): Server {
  const router = new Router(registry.profile);
  const server =
    tls === undefined ? createServer(OPTIONS) : createTlsServer({ ...OPTIONS, cert: tls.certificate, key: tls.key });
  server.maxConnections = 1000;
  server.on('listening', () => registry.arrivals.watch());
  server.on(
    'request',
    (request, response) =>
      void serve(registry, router, { request, response }).catch((error: unknown) => breakOff(response, error)),
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => turnAway(error, socket));
  return server;
}

const PARSER_REFUSALS: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** What is no HTTP never becomes a request; it gets the framework's shape and its connection is closed. */
function turnAway(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const [status, title] = PARSER_REFUSALS[error.code ?? ''] ?? [400, 'Bad Request'];
  const { body, contentType } = springAnswer(status, title, '');
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${contentType}\r\nContent-Length: ` +
      `${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${String(body)}`,
  );
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function serve(registry: Registry, router: Router, { request, response }: Exchange): Promise<void> {
  const arrival = registry.arrivals.note();
  const { path, query } = addressOf(request);
  const verb = request.method ?? 'GET';
  const route = router.match(verb, path);
  const { method, params } = typeof route === 'object' ? route : { method: path, params: {} };
  const base = registry.settings.linkBase ?? `${schemeOf(registry, request)}://${request.headers.host ?? 'localhost'}`;
  const call: Call = { method, verb, params, query, arrival, base, headers: request.headers, body: EMPTY };
  const { misbehaviour } = registry.faults;
  const spoiled = misbehaviour.spoiled(method);
  let answer: Answer;
  try {
    answer = await work(registry, { route, path, request, call });
  } catch (error) {
    if (error instanceof Dropped || error instanceof CallerGone) return void response.destroy();
    answer = errorAnswer(registry, path, error);
  }
  await deliver(registry, { method, response, answer });
  if (misbehaviour.spoiled(method) === spoiled) misbehaviour.wentWell(method);
}

/** The scheme that the caller used: what a proxy in front says of it, or that of this port. */
function schemeOf({ settings }: Registry, { headers }: IncomingMessage): string {
  const [forwarded = ''] = String(headers['x-forwarded-proto'] ?? '').split(',');
  const scheme = forwarded.trim().toLowerCase();
  if (scheme === 'http' || scheme === 'https') return scheme;
  return settings.tls ? 'https' : 'http';
}

function addressOf({ url = '/' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  return mark < 0
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

const EMPTY = Buffer.alloc(0);

/** The connection was ordered to break before anything was done: there is no answer. */
class Dropped extends Error {}

/** The service was ordered to be out of order for this call. */
class Broken extends Error {}

interface Work {
  route: Route | 'wrong_verb' | undefined;
  path: string;
  request: IncomingMessage;
  call: Call;
}

async function work(registry: Registry, { route, path, request, call }: Work): Promise<Answer> {
  const token = tokenOf(registry, request);
  const account = token === undefined ? undefined : registry.sessions.use(token);
  watchToken(registry, { token, account, url: request.url ?? '', path });
  if (typeof route !== 'object') {
    await readBody(request, bodyLimit(registry));
    return notAnOperation(registry, { route, path, verb: call.verb, account });
  }
  const open = OPEN_OPERATIONS[route.method];
  // The interval is judged in the order of arrival, so before the body is there.
  let limited: unknown;
  if (open === undefined && account !== undefined) limited = attempt(() => registry.limitCall(account.name, call));
  call.body = await readBody(request, route.method === 'upload_part' ? MAX_UPLOAD_BYTES : bodyLimit(registry));
  if (limited !== undefined) throw limited;
  strikeBeforeWork(registry, { method: route.method, token: open === undefined ? token : undefined });
  if (open !== undefined) return open(registry, call);
  watchDeprecated(registry, { call: `${call.verb} ${path}`, method: route.method, account });
  if (account === undefined || token === undefined) throw refuse(401, 'the token is missing, unknown or expired');
  return workForUser(registry, { ...call, account, token });
}

function workForUser(registry: Registry, call: UserCall): Answer | Promise<Answer> {
  const { method, account } = call;
  registry.refuseBlocked(account.name);
  refuseWithoutRight(account, method);
  watchParameters(registry, call);
  const operation = USER_OPERATIONS[method];
  if (operation === undefined) throw refuse(501, `${method} is not part of this sandbox`);
  if (method === 'send' || method === 'send_large') watchResend(registry, call);
  const lateMs = method === 'send' ? registry.faults.take('land_late', 'send') : undefined;
  if (lateMs === undefined) return operation(registry, call);
  const held = heldName(registry, call);
  registry.lateSends.hold(held);
  registry.later(lateMs, () => {
    registry.lateSends.landed(held);
    void attempt(() => void operation(registry, { ...call, late: true }));
  });
  throw new Dropped();
}

function watchDeprecated(
  registry: Registry,
  { call, method, account }: { call: string; method: string; account: Account | undefined },
): void {
  if (method in DEPRECATED_METHODS)
    registry.violations.record('deprecated_method', { call, account: account?.name ?? 'unknown' });
}

/**
 * A send of a request_id whose earlier send is still under way: had that been slower, or this one quicker, there would
 * be two documents.
 */
function watchResend(registry: Registry, call: UserCall): void {
  if (!registry.lateSends.isHeld(() => heldName(registry, call))) return;
  registry.violations.record('premature_resend', {
    call: call.method,
    account: call.account.name,
    note: heldName(registry, call),
  });
}

/** Participant and request_id of a send, as far as its body can be read. */
function heldName({ profile }: Registry, { account, body }: UserCall): string {
  let requestId: unknown;
  void attempt(() => void (requestId = jsonObjectOf(body)[profile.field('request_id')]));
  return `${account.participant.key} ${typeof requestId === 'string' ? requestId.toLowerCase() : ''}`;
}

/** Misbehaviour that keeps the work from being done. */
function strikeBeforeWork(registry: Registry, { method, token }: { method: string; token: string | undefined }): void {
  const { faults } = registry;
  if (faults.take('drop_connection_before_work', method) !== undefined) throw new Dropped();
  if (faults.take('answer_500_before_work', method) !== undefined) throw new Broken();
  if (token === undefined || !registry.sessions.knows(token) || faults.take('token_revoked', method) === undefined)
    return;
  registry.journal.append({ k: 'logout', h: registry.sessions.close(token) });
  throw refuse(401, 'the token was revoked');
}

function attempt(action: () => void): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error;
  }
}

const bodyLimit = ({ settings }: Registry): number => settings.sendBytes;

function tokenOf({ profile }: Registry, request: IncomingMessage): string | undefined {
  const { header, prefix } = profile.authorization;
  const value = request.headers[header.toLowerCase()];
  return typeof value === 'string' && value.startsWith(prefix) ? value.slice(prefix.length).trim() : undefined;
}

/**
 * How a client that was only given the address learns that this registry is a sandbox, and who counts its violations.
 */
const INTRODUCTION = 'GET /.well-known/pedigree-sandbox';

const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** A token in a URL ends in logs and histories. Only the query is looked at: paths carry the ids of documents. */
function watchToken(
  registry: Registry,
  seen: { token: string | undefined; account: Account | undefined; url: string; path: string },
): void {
  const query = seen.url.slice(seen.path.length);
  if (query === '') return;
  const named = seen.token !== undefined && query.includes(seen.token);
  const known = query.includes('token=') && (query.match(UUIDS) ?? []).some((text) => registry.sessions.knows(text));
  if (named || known)
    registry.violations.record('token_in_url', { call: seen.path, account: seen.account?.name ?? 'unknown' });
}

/** The deprecated name of a product's name (9), as a filter of a registry. In a document it may be any word. */
function watchParameters(registry: Registry, call: Call & { account: Account }): void {
  const name = registry.profile.field('prod_desc_label');
  const isUsed =
    call.query.has(name) || (call.method in REGISTRY_OPERATIONS && call.body.includes(JSON.stringify(name)));
  if (isUsed)
    registry.violations.record('deprecated_parameter', { call: call.method, account: call.account.name, note: name });
}

function notAnOperation(
  registry: Registry,
  call: { route: 'wrong_verb' | undefined; path: string; verb: string; account: Account | undefined },
): Answer {
  const { path, verb } = call;
  const about = { call: `${verb} ${path}`, account: call.account?.name ?? 'unknown' };
  const { basePath } = registry.profile;
  const inside = path.startsWith(basePath) ? path.slice(basePath.length) : path;
  if (INTERNAL_PREFIXES.some((prefix) => path.startsWith(prefix) || inside.startsWith(prefix)))
    registry.violations.record('internal_method', about);
  if (`${verb} ${path}` === INTRODUCTION)
    return jsonAnswer(200, { controlUrl: registry.controlUrl, profile: registry.profile.name });
  const absent = notHere(registry, verb, path);
  if (absent !== undefined) return absent;
  if (call.route === 'wrong_verb') return springAnswer(405, 'Method Not Allowed', path);
  // Behind the gateway is what begins with a root that it knows; of anything else it says itself that it is not there.
  return path.startsWith(`${basePath}/`) ? springAnswer(404, 'Not Found', path) : htmlAnswer(404, 'Not Found');
}

function errorAnswer(registry: Registry, path: string, error: unknown): Answer {
  if (error instanceof Refusal) return refusalAnswer(registry, error);
  if (error instanceof Broken) return springAnswer(500, 'Internal Server Error', path);
  process.stderr.write(`sandbox: ${path}: ${(error as Error).stack ?? String(error)}\n`);
  return springAnswer(500, 'Internal Server Error', path);
}

/** The words of the live service, where they are known; then the sandbox's own reason stands in a header. */
function refusalAnswer({ profile, settings }: Registry, { httpStatus, text, headers, said }: Refusal): Answer {
  const reason = text.replaceAll(/[^ -~]/g, '?').slice(0, MOST_REASON);
  return jsonAnswer(
    httpStatus,
    { [profile.field('error_description')]: errorDescription(settings.language, said, text) },
    said === undefined ? headers : { ...headers, 'x-sandbox-reason': reason },
  );
}

/** Characters of a reason in a header. */
const MOST_REASON = 500;

/** Writes the answer, unless something strikes it. The work is done by now. */
async function deliver(
  registry: Registry,
  { method, response, answer }: { method: string; response: ServerResponse; answer: Answer },
): Promise<void> {
  const { faults } = registry;
  if (!(method in registry.profile.operations)) return void (response.destroyed || writeAnswer(response, answer));
  const delayMs = faults.take('delay_ms', method);
  if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
  if (faults.take('drop_connection_after_work', method) !== undefined) {
    answer.lost?.();
    response.destroy();
    return;
  }
  if (faults.take('cut_answer', method) !== undefined) {
    answer.lost?.();
    cutAnswer(response, answer);
    return;
  }
  const instead = struck(registry, method, answer);
  if (instead !== answer && instead.status !== answer.status) answer.lost?.();
  if (!response.destroyed) writeAnswer(response, instead);
}

/** The answer, or what misbehaviour makes of it. */
function struck({ faults }: Registry, method: string, answer: Answer): Answer {
  if (faults.take('answer_500_after_work', method) !== undefined)
    return springAnswer(500, 'Internal Server Error', method);
  if (faults.take('html_error', method) !== undefined) return htmlAnswer(504, 'Gateway Time-out');
  if (faults.take('wrong_content_type', method) !== undefined)
    return { ...answer, contentType: 'text/html;charset=UTF-8' };
  return answer;
}
