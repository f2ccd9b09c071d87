import { TestEnvironment } from 'jest-environment-node';
import { THIS_REALM } from './jest-runtime.mjs';

/**
 * So long what a file has stopped may take until it is gone, on a busy machine too: a socket says goodbye, a child
 * process ends.
 */
const GONE_WITHIN_MS = 20_000;
const POLL_MS = 20;

/**
 * The world of one test file. A file that leaves a timer, a server or a child process behind fails, by name: else all
 * that is seen of it is a worker of Jest that does not end, when nobody can tell any more whose fault it is. Where Jest
 * runs a file in its own process, its own timers stand among those of the file, and nothing is judged.
 */
export default class NothingLeftOpen extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global = globalThis;
    this.context = THIS_REALM;
    this.moduleMocker = new this.moduleMocker.constructor(globalThis);
    this.fakeTimersModern = new this.fakeTimersModern.constructor({ config: config.projectConfig, global: globalThis });
    // Jest adds the listeners of this file to those of the last.
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    this.before = countOpen();
    this.timers = new TimersMade();
    this.failed = [];
  }

  handleTestEvent({ name, test }, state) {
    if (name === 'test_done' && test.errors.length > 0) this.failed.push(test.name);
    // Hooks and tests of the file are known, and none has begun.
    if (name !== 'run_start' || PATIENCE === 1) return;
    state.testTimeout *= PATIENCE;
    giveTime(state.rootDescribeBlock);
  }

  async teardown() {
    await super.teardown();
    await closeConnectionsOfFetch();
    this.timers.restore();
    if (process.send === undefined) return;
    let left = leftOpen(this.before);
    for (let waitedMs = 0; left.length > 0 && waitedMs < GONE_WITHIN_MS; waitedMs += POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      left = leftOpen(this.before);
    }
    if (left.length > 0) throw new Error(this.wordsOf(left));
  }

  /** Jest shows this in place of what the file's tests came to. */
  wordsOf(left) {
    const lines = [`this file left open: ${left.join(', ')}. What a test starts, it stops`, ...this.timers.pending()];
    return [...lines, ...this.failed.map((name) => `a test failed before: ${name}`)].join('\n  ');
  }
}

/** The timers of a file, to name those that it leaves. Those of `node:timers/promises` are made elsewhere. */
class TimersMade {
  constructor() {
    const { setTimeout, setInterval } = globalThis;
    this.made = new Set();
    this.replaced = { setTimeout, setInterval };
    for (const [name, original] of Object.entries(this.replaced))
      globalThis[name] = Object.assign((...args) => this.note(original(...args)), original);
    this.ours = { setTimeout: globalThis.setTimeout, setInterval: globalThis.setInterval };
  }

  note(timer) {
    this.made.add(timer);
    if (this.made.size > MOST_TIMERS_NOTED) for (const one of this.made) if (!isPending(one)) this.made.delete(one);
    return timer;
  }

  restore() {
    for (const name of Object.keys(this.ours))
      if (globalThis[name] === this.ours[name]) globalThis[name] = this.replaced[name];
  }

  pending() {
    return [...this.made]
      .filter((timer) => isPending(timer) && timer.hasRef())
      .map(({ _idleTimeout, _onTimeout }) => `a timer of ${_idleTimeout} ms: ${brief(_onTimeout)}`);
  }
}

const MOST_TIMERS_NOTED = 1_000;
const isPending = (timer) => timer._destroyed === false;
const brief = (callback) => `${callback.name} ${String(callback).replace(/\s+/gu, ' ').slice(0, 150)}`.trim();

/** Limits are for a machine of usual speed: how many times as long another may take. It is one for `until`, too. */
const PATIENCE = Number(process.env['PEDIGREE_TEST_PATIENCE'] ?? 1);

function giveTime({ hooks, children }) {
  for (const one of [...hooks, ...children]) if (one.timeout !== undefined) one.timeout *= PATIENCE;
  for (const one of children) if (one.type === 'describeBlock') giveTime(one);
}

/** By these names undici keeps what `fetch` sends through, in `globalThis`: that of Node and the library both. */
const AGENTS = ['undici.globalDispatcher.2', 'undici.globalDispatcher.1'].map((name) => Symbol.for(name));

/** A connection that is kept for later ends by a time of its own, and a worker of Jest that has ended waits for it. */
async function closeConnectionsOfFetch() {
  const names = AGENTS.filter((name) => globalThis[name] !== undefined);
  const used = new Set(names.map((name) => globalThis[name]));
  for (const agent of used) {
    const unused = new agent.constructor();
    for (const name of names) if (globalThis[name] === agent) globalThis[name] = unused;
    await agent.destroy();
  }
}

const leftOpen = (before) =>
  Object.entries(countOpen()).flatMap(([kind, count]) =>
    count > (before[kind] ?? 0) ? [`${count - (before[kind] ?? 0)} ${kind}`] : [],
  );

/**
 * Pipes are not counted: those of this process itself come into being at their first use, and of those to a child that
 * is left the child tells. Nor are sockets: a connection that fetch keeps for later ends by a time of its own, and of
 * those to a server that is left the server tells.
 */
const NOT_COUNTED = ['PipeWrap', 'TCPSocketWrap'];

/** What keeps this process from ending, by kind: `{ Timeout: 1, TCPServerWrap: 2 }`. */
function countOpen() {
  const counts = {};
  for (const kind of process.getActiveResourcesInfo().filter((one) => !NOT_COUNTED.includes(one)))
    counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
