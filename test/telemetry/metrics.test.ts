import { expect, test } from "vitest";
import { createRegistry } from "../../src/telemetry/metrics.ts";

test("counters, gauges and histograms are printed for Prometheus", () => {
  const registry = createRegistry();
  const requests = registry.counter("requests_total", "Requests.");
  const open = registry.gauge("open", "Open ones.");
  const seconds = registry.histogram("seconds", "How long.", [0.1, 1]);

  let waiting = 1;
  registry.readings("waiting", "Those who wait.", "gauge", () => [[{ model: "m" }, waiting]]);

  requests.add({ route: "/v1", status: "200" });
  requests.add({ route: "/v1", status: "200" }, 2);
  requests.add({ route: 'a"b\\c\nd', status: "404" });
  open.add(3);
  open.add(-1);
  waiting = 2;
  for (const value of [0.05, 0.1, 0.5, 7]) seconds.observe({ model: "m" }, value);

  expect(registry.toText()).toBe(`\
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{route="/v1",status="200"} 3
requests_total{route="a\\"b\\\\c\\nd",status="404"} 1
# HELP open Open ones.
# TYPE open gauge
open 2
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{model="m",le="0.1"} 2
seconds_bucket{model="m",le="1"} 3
seconds_bucket{model="m",le="+Inf"} 4
seconds_sum{model="m"} 7.65
seconds_count{model="m"} 4
# HELP waiting Those who wait.
# TYPE waiting gauge
waiting{model="m"} 2
`);
});
