/** The value of a counter, `name{label="value"}`, in the answer of `/metrics`; undefined if it was never counted. */
export function readCounter(metrics: string, sample: string): number | undefined {
  const line = metrics.split("\n").find((each) => each.startsWith(`harmony_gateway_${sample} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}
