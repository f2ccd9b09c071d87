import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { systemClock, type Clock } from '#kernel';
import {
  METRICS,
  type LabelsOf,
  type MetricEntry,
  type MetricName,
  type MetricOf,
  type PlainGauge,
} from './metric-table.js';

/** Reads figures that lie elsewhere, such as in the database, when they are asked for. */
type Collector = () => Promise<void> | void;

/** A run of a collector that takes so long never ends. */
const LOST_AFTER_MS = 60_000;

export interface MetricsOptions {
  program: string;
  version: string;
  profile: string;
  /** What serves until the program is up: nothing here says that it runs. */
  isStartingUp?: true;
  /** Collectors run at most so often: whoever scrapes in a loop must not load the database. Default 5,000. */
  collectEveryMs?: number;
  /** Longest that one collector may take; then what it last read stands. Default 4,000. */
  collectWithinMs?: number;
  clock?: Clock;
  /** A collector that failed or was too slow. Its figures are then old, and the scrape answers all the same. */
  onError?: (error: unknown) => void;
}

let ofProcess: Registry | undefined;

/**
 * CPU, memory, event loop and garbage collection of this process. What watches them never ends: so there is one of
 * each, however many programs this process runs, and however often one starts again.
 */
function processMetrics(): ReturnType<Registry['getMetricsAsArray']> {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess.getMetricsAsArray();
}

/**
 * The metrics of one process. Names and labels are those of the table; a name or label that is not there does not
 * compile.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly made = new Map<MetricName, Counter | Gauge | Histogram>();
  private readonly collectors: Collector[] = [];
  private readonly underway = new Map<Collector, { sinceMs: number; run: Promise<void> }>();
  private readonly clock: Clock;
  private collectedAtMs = -Infinity;
  private collecting: Promise<void> | undefined;

  constructor(private readonly options: MetricsOptions) {
    this.clock = options.clock ?? systemClock;
    this.registry.setDefaultLabels({ program: options.program });
    if (options.isStartingUp === true) return;
    for (const metric of processMetrics()) this.registry.registerMetric(metric as never);
    this.set('pedigree_info', { version: options.version, profile: options.profile }, 1);
  }

  count<Name extends MetricOf<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.metric(name, Counter).inc(labels, by);
  }

  observe<Name extends MetricOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.metric(name, Histogram).observe(labels, seconds);
  }

  set<Name extends MetricOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.metric(name, Gauge).set(labels, value);
  }

  /**
   * All values of a gauge, or of a counter whose total is kept elsewhere: labels that are not named are gone
   * afterwards.
   */
  replace<Name extends MetricOf<'gauge' | 'counter'>>(
    name: Name,
    values: { labels: LabelsOf<Name>; value: number }[],
  ): void {
    const metric = METRICS[name].kind === 'counter' ? this.metric(name, Counter) : this.metric(name, Gauge);
    metric.reset();
    // A metric without labels is reset to 0, and not gone.
    metric.remove({});
    for (const { labels, value } of values) metric.inc(labels, value);
  }

  /** The value of a gauge that has none at times: where it is undefined the gauge is absent. */
  setOrClear(name: PlainGauge, value: number | undefined): void {
    this.replace(name, value === undefined ? [] : [{ labels: {}, value }]);
  }

  /** Adds what is read when somebody asks. */
  collect(collector: Collector): void {
    this.collectors.push(collector);
  }

  /** The text that Prometheus reads (exposition format 0.0.4). */
  async text(): Promise<{ contentType: string; body: string }> {
    await this.refresh();
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  /** One run of the collectors at a time, whoever asks. */
  private refresh(): Promise<void> {
    const { collectEveryMs = 5_000 } = this.options;
    if (this.collecting === undefined && this.clock.monotonicMs() - this.collectedAtMs >= collectEveryMs) {
      this.collecting = Promise.all(this.collectors.map((collector) => this.run(collector))).then(() => {
        this.collectedAtMs = this.clock.monotonicMs();
        this.collecting = undefined;
      });
    }
    return this.collecting ?? Promise.resolve();
  }

  private async run(collector: Collector): Promise<void> {
    const { collectWithinMs = 4_000, onError = () => undefined } = this.options;
    const ended = new AbortController();
    try {
      const late = this.clock
        .wait(collectWithinMs, ended.signal)
        .then(() =>
          ended.signal.aborted
            ? undefined
            : Promise.reject(new Error(`a collector of metrics took more than ${collectWithinMs} ms`)),
        );
      await Promise.race([this.oneOf(collector), late]);
    } catch (error) {
      onError(error);
    } finally {
      ended.abort();
    }
  }

  /** The run of a collector that is under way, which may have been too slow for an earlier scrape, or a new one. */
  private oneOf(collector: Collector): Promise<void> {
    const known = this.underway.get(collector);
    const sinceMs = this.clock.monotonicMs();
    if (known !== undefined && sinceMs - known.sinceMs < LOST_AFTER_MS) return known.run;
    const begun = {
      sinceMs,
      run: Promise.resolve()
        .then(collector)
        .finally(() => this.underway.get(collector) === begun && this.underway.delete(collector)),
    };
    this.underway.set(collector, begun);
    return begun.run;
  }

  private metric<Made extends Counter | Gauge | Histogram>(name: MetricName, kind: new (config: never) => Made): Made {
    const known = this.made.get(name);
    if (known !== undefined) return known as Made;
    const { help, labels, buckets }: MetricEntry = METRICS[name];
    const config = {
      name,
      help,
      labelNames: [...labels],
      registers: [this.registry],
      ...(buckets === undefined ? {} : { buckets: [...buckets] }),
    };
    const made = new kind(config as never);
    this.made.set(name, made);
    return made;
  }
}
