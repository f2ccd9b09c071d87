import { Dice, exchange } from '../../apps/sandbox/test/fuzz.js';
import { breakOff, nonsense, type DescribedRoute, type Material } from './nonsense.js';

const AT_ONCE = 8;
const MOST_FAULTS = 5;

/** Words of JavaScript for a fault of ours, wherever they are told. */
const OUR_FAULT =
  /is not a function|Cannot (read|set|convert)|is not iterable|is not defined|of undefined|not supported/;

/** Routes of the gateway that its description leaves out, and some that are not there. */
export const FURTHER_ROUTES: DescribedRoute[] = [
  '/docs',
  '/docs/{file}',
  '/v1/openapi.json',
  '/health/live',
  '/health/ready',
  '/{x}',
  '/v1/{x}',
].map((path) => ({ verb: 'GET', path, query: [] }));

export interface Fuzzed {
  requests: number;
  /** How often each status came; `closed` where the connection was. */
  statuses: Record<string, number>;
  /** Answers that tell of a fault of ours, with the request; none is good. */
  wrong: string[];
}

/** What is wrong with an answer. */
function whyWrong(answer: Awaited<ReturnType<typeof exchange>>): string | undefined {
  if (answer === 'silent') return 'no answer in time';
  if (answer === 'closed') return undefined;
  const { status, body } = answer;
  // A HEAD has no body.
  if (status >= 500 && !(status === 503 && (body === '' || /"code":"(backlog_full|unavailable)"/.test(body))))
    return `${status}: ${body.slice(0, 300)}`;
  return status >= 400 && OUR_FAULT.test(body) ? `${status}: ${body.slice(0, 300)}` : undefined;
}

/** Sends requests of all kinds to a port while `goesOn` says so, each from its seed and number alone. */
export async function fuzz(
  url: string,
  material: Omit<Material, 'host'>,
  { seed, goesOn }: { seed: number; goesOn: (requests: number) => boolean },
): Promise<Fuzzed> {
  const port = Number(new URL(url).port);
  const fuzzed: Fuzzed = { requests: 0, statuses: {}, wrong: [] };
  const { statuses, wrong } = fuzzed;
  const hand = async (): Promise<void> => {
    while (goesOn(fuzzed.requests) && wrong.length < MOST_FAULTS) {
      const index = (fuzzed.requests += 1);
      const dice = new Dice(seed ^ Math.imul(index, 0x9e3779b1));
      const bytes = nonsense(dice, { ...material, host: new URL(url).host });
      if (dice.chance(5)) {
        await breakOff(port, bytes.subarray(0, dice.number(bytes.length)));
        continue;
      }
      const answer = await exchange(port, { bytes, cut: false });
      const status = typeof answer === 'string' ? answer : String(answer.status);
      statuses[status] = (statuses[status] ?? 0) + 1;
      const why = whyWrong(answer);
      if (why !== undefined) wrong.push(`request ${index}: ${why}\n${bytes.toString('latin1', 0, 600)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hand));
  return fuzzed;
}
