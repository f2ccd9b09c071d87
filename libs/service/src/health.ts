import { systemClock, wordsOf, type Clock } from '#kernel';

type Phase = 'starting' | 'running' | 'stopping';

/** A service that the program needs, as it stands. `unknown` until it was asked for the first time. */
interface Part {
  name: string;
  where: string;
  status: 'unknown' | 'up' | 'down';
  /** Since when it is so, ISO 8601. */
  since: string;
  /** What was wrong at the last try, without secrets. */
  error?: string;
}

/** What `GET /health/ready` answers. */
export interface Readiness {
  /** `degraded`: the program works, and somebody must look at what is named under `degraded`. */
  status: 'ready' | 'degraded' | 'not_ready';
  program: string;
  phase: Phase;
  parts: Part[];
  /** What does not go as it should, although the program works. Absent when there is nothing. */
  degraded?: Trouble[];
}

/** Something of which a person must know, without secrets. */
export interface Trouble {
  name: string;
  /** ISO 8601. */
  since: string;
  reason: string;
}

type KnownPart = Part & { secrets: string[]; onlyDegrades: boolean };

const awayOf = ({ name, since, error = 'it does not answer' }: Part): Trouble => ({ name, since, reason: error });

const LONGEST_ERROR = 300;

/**
 * How a program is: its phase, and each part that it needs. Everything that is told to the outside about that comes
 * from here.
 */
export class Health {
  phase: Phase = 'starting';
  private readonly parts = new Map<string, KnownPart>();
  private readonly waiters = new Set<() => void>();
  private readonly troubles: (() => Trouble[])[] = [];

  constructor(
    readonly program: string,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Announces a part, so that it is named before anything is known of it. */
  add(part: { name: string; where: string; secrets?: string[] | undefined; onlyDegrades?: boolean }): void {
    this.parts.set(part.name, {
      name: part.name,
      where: part.where,
      status: 'unknown',
      since: this.now(),
      secrets: part.secrets ?? [],
      onlyDegrades: part.onlyDegrades ?? false,
    });
  }

  /** Notes that a part answers. Returns for how long it had been away, in ms, or undefined when it had not. */
  up(name: string): number | undefined {
    const part = this.part(name);
    const { status, since } = part;
    delete part.error;
    if (status === 'up') return undefined;
    Object.assign(part, { status: 'up', since: this.now() });
    for (const wake of [...this.waiters]) wake();
    return status === 'down' ? this.clock.now().getTime() - Date.parse(since) : undefined;
  }

  /** Notes that a part does not answer. True when that is news. */
  down(name: string, error: unknown): boolean {
    const part = this.part(name);
    const isNews = part.status !== 'down';
    if (isNews) Object.assign(part, { status: 'down', since: this.now() });
    part.error = sentenceOf(error, part.secrets);
    return isNews;
  }

  /** Adds something that tells, when it is asked, what does not go as it should. It must answer at once. */
  degradedBy(look: () => Trouble[]): void {
    this.troubles.push(look);
  }

  isUp(name: string): boolean {
    return this.part(name).status === 'up';
  }

  /** Resolves when all these parts are up, or when `signal` aborts. */
  async untilUp(names: string[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !names.every((name) => this.isUp(name))) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.waiters.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.waiters.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    }
  }

  readiness(): Readiness {
    const known = [...this.parts.values()];
    const parts = known.map(({ secrets: _, onlyDegrades: __, ...part }) => ({ ...part }));
    const isReady = this.phase === 'running' && known.every((part) => part.onlyDegrades || part.status === 'up');
    const away = known.filter((part) => part.onlyDegrades && part.status === 'down');
    const degraded = [...away.map(awayOf), ...this.troubles.flatMap((look) => look())].map((one) => ({
      ...one,
      reason: sentenceOf({ message: one.reason }),
    }));
    const status = !isReady ? 'not_ready' : degraded.length > 0 ? 'degraded' : 'ready';
    return { status, program: this.program, phase: this.phase, parts, ...(degraded.length === 0 ? {} : { degraded }) };
  }

  /** What keeps the program from working, in one sentence: for whoever is turned away. */
  reason(): string {
    const away = [...this.parts.values()].filter((part) => part.status !== 'up').map((part) => part.name);
    if (away.length > 0) return `${away.join(' and ')} ${away.length === 1 ? 'is' : 'are'} away`;
    return this.phase === 'stopping' ? 'the program is stopping' : 'the program is starting';
  }

  private part(name: string): KnownPart {
    const part = this.parts.get(name);
    if (part === undefined) throw new Error(`health knows no part ${name}`);
    return part;
  }

  private now(): string {
    return this.clock.now().toISOString();
  }
}

/** An error in a line, without the secrets that it might name. */
export function sentenceOf(error: unknown, secrets: string[] = []): string {
  const hidden = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), wordsOf(error));
  return hidden
    .replace(/(:\/\/[^\s:@/]*):[^\s@/]*@/g, '$1:***@')
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST_ERROR);
}
