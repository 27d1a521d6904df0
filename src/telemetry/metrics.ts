/**
 * Prometheus metrics in the text format, version 0.0.4. The module uses no library, so it works on every runtime.
 *
 * Labels never contain values that a client can choose freely: each value would create a time series.
 */

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels: Labels, amount?: number): void;
}

export interface Gauge {
  add(amount: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

/** The metrics. A repeated registration of a name keeps its counts. */
export interface Registry {
  counter(name: string, help: string): Counter;
  gauge(name: string, help: string): Gauge;
  /** `bounds` are the upper bounds of the buckets, ascending; an infinite one is added. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram;
  /** Values kept elsewhere: `read` is called at each scrape. A repeated registration replaces the former `read`. */
  readings(
    name: string,
    help: string,
    type: "counter" | "gauge",
    read: () => readonly (readonly [Labels, number])[],
  ): void;
  /** All metrics as text. */
  toText(): string;
}

export function createRegistry(): Registry {
  const families = new Map<string, () => string>();
  /** The meters, by name. */
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  return {
    counter(name, help) {
      const known = counters.get(name);
      if (known !== undefined) return known;
      const series = new Series(() => ({ value: 0 }));
      families.set(name, () => {
        const values = [...series.all].map(([key, { value }]) => [key, value] as const);
        return toFamily(name, help, "counter", toSamples(name, values));
      });
      const counter: Counter = {
        add(labels, amount = 1) {
          series.find(labels).value += amount;
        },
      };
      counters.set(name, counter);
      return counter;
    },

    gauge(name, help) {
      const known = gauges.get(name);
      if (known !== undefined) return known;
      let value = 0;
      families.set(name, () => toFamily(name, help, "gauge", [`${name} ${value}`]));
      const gauge: Gauge = {
        add(amount) {
          value += amount;
        },
      };
      gauges.set(name, gauge);
      return gauge;
    },

    histogram(name, help, bounds) {
      const known = histograms.get(name);
      if (known !== undefined) return known;
      const series = new Series<Buckets>((labels) => ({
        labels,
        counts: bounds.map(() => 0),
        sum: 0,
        count: 0,
      }));
      families.set(name, () => {
        const samples = [...series.all.values()].flatMap((each) => toBuckets(name, each, bounds));
        return toFamily(name, help, "histogram", samples);
      });
      const histogram: Histogram = {
        observe(labels, value) {
          const buckets = series.find(labels);
          const index = bounds.findIndex((bound) => value <= bound);
          if (index !== -1) buckets.counts[index] = (buckets.counts[index] ?? 0) + 1;
          buckets.sum += value;
          buckets.count += 1;
        },
      };
      histograms.set(name, histogram);
      return histogram;
    },

    readings(name, help, type, read) {
      families.set(name, () => {
        const values = new Map(read().map(([labels, value]) => [toLabels(labels), value]));
        return toFamily(name, help, type, toSamples(name, [...values]));
      });
    },

    toText: () => [...families.values()].map((family) => family()).join(""),
  };
}

/** The series of a family. */
class Series<T> {
  /** Series by printed labels, in the order of first use. */
  readonly all = new Map<string, T>();
  readonly #create: (labels: Labels) => T;

  constructor(create: (labels: Labels) => T) {
    this.#create = create;
  }

  find(labels: Labels): T {
    const key = toLabels(labels);
    let found = this.all.get(key);
    if (found === undefined) this.all.set(key, (found = this.#create(labels)));
    return found;
  }
}

interface Buckets {
  readonly labels: Labels;
  /** Counts of each bucket, which are summed only when printed. */
  readonly counts: number[];
  sum: number;
  count: number;
}

function toBuckets(name: string, buckets: Buckets, bounds: readonly number[]): string[] {
  const { labels, counts, sum, count } = buckets;
  let below = 0;
  const lines = bounds.map((bound, index) => {
    below += counts[index] ?? 0;
    return `${name}_bucket${toLabels({ ...labels, le: String(bound) })} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket${toLabels({ ...labels, le: "+Inf" })} ${count}`,
    `${name}_sum${toLabels(labels)} ${sum}`,
    `${name}_count${toLabels(labels)} ${count}`,
  ];
}

function toSamples(name: string, values: readonly (readonly [string, number])[]): string[] {
  return values.map(([labels, value]) => `${name}${labels} ${value}`);
}

function toFamily(name: string, help: string, type: string, samples: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples, ""].join("\n");
}

function toLabels(labels: Labels): string {
  let pairs = "";
  for (const name of Object.keys(labels)) {
    pairs += `${pairs === "" ? "" : ","}${name}="${escape(labels[name] ?? "")}"`;
  }
  return pairs === "" ? "" : `{${pairs}}`;
}

function escape(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
