/** What strikes at one call of the log, the evidence or the registry. */
export type Fault = 'before' /** it was not done */ | 'after'; /** it was done, and nobody learns of it */

/**
 * Which call is struck: by its number in the whole life, or by its name; an append is named with its event, as in
 * `append MemberSent`.
 */
export type Place = number | { call: string; nth?: number };

export interface BreakerPlan {
  at: Place;
  fault: Fault;
  /** The process ends with it. */
  dies: boolean;
}

/**
 * Counts the calls that reach outside the process, and lets one of them fail. After a death nothing gets out any more.
 */
export class Breaker {
  /** The names of the calls so far, in their order. */
  readonly names: string[] = [];
  struck = false;
  private dead = false;

  constructor(private readonly plan: BreakerPlan | undefined) {}

  get calls(): number {
    return this.names.length;
  }

  around<T extends object>(target: T, methods: string[]): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== 'function') return value;
        const method = value.bind(object) as (...args: unknown[]) => unknown;
        return methods.includes(String(name))
          ? (...args: unknown[]) => this.call(callName(String(name), args), () => method(...args))
          : method;
      },
    });
  }

  private async call(name: string, make: () => unknown): Promise<unknown> {
    if (this.dead) throw new Error('the process is dead');
    this.names.push(name);
    if (this.plan === undefined || this.struck || !this.isAt(this.plan.at, name)) return make();
    this.struck = true;
    this.dead = this.plan.dies;
    if (this.plan.fault === 'after') await make();
    throw new Error(`struck ${this.plan.fault} call ${this.calls}, ${name}`);
  }

  private isAt(place: Place, name: string): boolean {
    if (typeof place === 'number') return this.calls === place;
    return name === place.call && this.names.filter((one) => one === name).length === (place.nth ?? 1);
  }
}

/** Of a death or a fault that the breaker made; of two calls made together the second may speak first. */
export const isBreakers = (error: Error): boolean => /^struck|^the process is dead/.test(error.message);

function callName(method: string, args: unknown[]): string {
  const events = method === 'append' ? (args[2] as { type: string }[]) : [];
  return [method, ...events.map((event) => event.type)].join(' ');
}
