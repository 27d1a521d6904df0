/** Cloudflare's D1 on SQLite, with its limits in production. */
import { DatabaseSync } from "node:sqlite";
import type { D1Database, D1Statement } from "../../src/index.ts";

export interface SimulatedD1 extends D1Database {
  /** From now on, queries belong to another invocation. */
  beginInvocation(): void;
  /** Queries of this invocation so far. */
  readonly queries: number;
  /** Rows in all tables. */
  readonly rows: number;
}

const MAX_QUERIES = 1000;
const MAX_PARAMETERS = 100;
const MAX_ROW_BYTES = 2_000_000;

/** @param maxRows maximum number of rows; beyond it the database is full. */
export function createSimulatedD1({ maxRows = Infinity } = {}): SimulatedD1 {
  const database = new DatabaseSync(":memory:");
  let queries = 0;

  class Statement implements D1Statement {
    readonly query: string;
    readonly values: readonly (string | number)[];

    constructor(query: string, values: readonly (string | number)[] = []) {
      this.query = query;
      this.values = values;
    }

    bind(...values: (string | number)[]): Statement {
      return new Statement(this.query, values);
    }

    async all() {
      return { results: run(this) };
    }
  }

  function run({ query, values }: Statement): Record<string, unknown>[] {
    queries += 1;
    if (queries > MAX_QUERIES) fail("Too many API requests by single Worker invocation.");
    if (values.length > MAX_PARAMETERS) fail("D1_ERROR: too many SQL variables: SQLITE_ERROR");
    const bytes = values.reduce<number>((sum, each) => sum + Buffer.byteLength(String(each)), 0);
    if (query.startsWith("INSERT")) {
      if (bytes > MAX_ROW_BYTES) fail("D1_ERROR: string or blob too big: SQLITE_TOOBIG");
      if (countRows() >= maxRows) fail("D1_ERROR: Exceeded maximum DB size");
    }
    try {
      return database.prepare(query).all(...values);
    } catch (error) {
      return fail(`D1_ERROR: ${error instanceof Error ? error.message : ""}: SQLITE_ERROR`);
    }
  }

  function countRows(): number {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables
      .map(({ name }) =>
        Number(database.prepare(`SELECT count(*) AS n FROM ${String(name)}`).get()?.["n"]),
      )
      .reduce((sum, each) => sum + each, 0);
  }

  return {
    prepare: (query) => new Statement(query),
    async batch(statements) {
      database.exec("BEGIN");
      try {
        for (const statement of statements) if (statement instanceof Statement) run(statement);
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    beginInvocation() {
      queries = 0;
    },
    get queries() {
      return queries;
    },
    get rows() {
      return countRows();
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}
