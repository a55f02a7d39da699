/** Labels of a sample, name to value (Prometheus text format). */
export type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Iterable<Sample>;
}

/** A count that only grows. */
export class Counter {
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  increment(labels: Labels = {}): void {
    const key = Object.values(labels).join('\u0000');
    const entry = this.#values.get(key);
    if (entry) entry.value++;
    else this.#values.set(key, { labels, value: 1 });
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.#values.values()) yield { suffix: '', labels, value };
  }
}

/** Counts observations in buckets; upper bounds in ascending order, the unit in the metric's name. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number; count: number }>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  observe(value: number, labels: Labels = {}): void {
    const series = this.#seriesOf(labels);
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
    series.count++;
  }

  *samples(): Iterable<Sample> {
    for (const { labels, counts, sum, count } of this.#series.values()) {
      let below = 0;
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] ?? 0;
        yield { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below };
      }
      yield { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count };
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: count };
    }
  }

  #seriesOf(labels: Labels) {
    const key = Object.values(labels).join('\u0000');
    const known = this.#series.get(key);
    if (known) return known;
    const fresh = { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, fresh);
    return fresh;
  }
}

/** Metric families in the order of their registration, told as Prometheus text (exposition format 0.0.4). */
export class MetricRegistry {
  readonly #families: Family[] = [];

  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#families.push({ name, help, type: 'counter', samples: () => counter.samples() });
    return counter;
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#families.push({ name, help, type: 'histogram', samples: () => histogram.samples() });
    return histogram;
  }

  /** A value that is looked up when somebody asks: one number, or one for each set of labels. */
  gauge(name: string, help: string, collect: () => number | Iterable<readonly [Labels, number]>): void {
    this.#lookedUp({ name, help, type: 'gauge' }, collect);
  }

  /** As `gauge`, for counts that somebody else keeps. */
  observedCounter(name: string, help: string, collect: () => number | Iterable<readonly [Labels, number]>): void {
    this.#lookedUp({ name, help, type: 'counter' }, collect);
  }

  text(): string {
    return this.#families.map(familyText).join('');
  }

  #lookedUp(head: Omit<Family, 'samples'>, collect: () => number | Iterable<readonly [Labels, number]>): void {
    const samples = (): Sample[] => {
      const value = collect();
      if (typeof value === 'number') return [{ suffix: '', labels: {}, value }];
      return [...value].map(([labels, item]) => ({ suffix: '', labels, value: item }));
    };
    this.#families.push({ ...head, samples });
  }
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = [...samples()].map((sample) => `${name}${sample.suffix}${labelText(sample.labels)} ${sample.value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
