/**
 * A tournament tree: finds the lowest of many values while single values change, both in O(log n). The values
 * are the leaves of a complete binary tree. Each inner node has the lower value of its two children, so the
 * root has the lowest of all.
 *
 *     node 1 is the root · 2n and 2n + 1 are the children of n · the leaves are the last half
 */

import { NO_RANK } from "./token-tables.ts";

const noRank = NO_RANK;

export class TournamentTree {
  readonly #leaves: number;
  readonly #nodes: Int32Array;

  constructor(values: Int32Array) {
    this.#leaves = 2 ** Math.ceil(Math.log2(values.length));
    this.#nodes = new Int32Array(2 * this.#leaves).fill(noRank);
    this.#nodes.set(values, this.#leaves);
    for (let node = this.#leaves - 1; node > 0; node--) {
      this.#nodes[node] = Math.min(this.#nodes[2 * node]!, this.#nodes[2 * node + 1]!);
    }
  }

  value(index: number): number {
    return this.#nodes[this.#leaves + index]!;
  }

  set(index: number, value: number): void {
    const nodes = this.#nodes;
    let node = this.#leaves + index;
    nodes[node] = value;
    while (node > 1) {
      node >>= 1;
      const lower = Math.min(nodes[2 * node]!, nodes[2 * node + 1]!);
      if (nodes[node] === lower) return;
      nodes[node] = lower;
    }
  }

  /** The first index with the lowest value; -1 if that is {@link NO_RANK}. */
  lowest(): number {
    const nodes = this.#nodes;
    const leaves = this.#leaves;
    const value = nodes[1]!;
    if (value === noRank) return -1;
    let node = 1;
    while (node < leaves) {
      node *= 2;
      if (nodes[node] !== value) node++;
    }
    return node - leaves;
  }
}
