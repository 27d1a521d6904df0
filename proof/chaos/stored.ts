/** Stored responses: created, and read by those who own them. */
import * as z from "zod";
import { type Asking, MODEL } from "./asking.ts";
import type { Stage } from "./phase.ts";

export interface Stored {
  readonly tenant: "a" | "b" | "c";
  readonly id: string;
}

const created = z.looseObject({ id: z.string(), status: z.string() });

const PATIENCE_MS = 60_000;

/** Undefined: it was refused. */
export async function storeResponse(
  stage: Stage,
  tenant: Stored["tenant"],
  body: object = {},
): Promise<Stored | undefined> {
  const asking = stage.next(tenant);
  const response = await fetch(`${asking.origin}/v1/responses`, {
    ...toInit(asking),
    method: "POST",
    body: JSON.stringify({ model: MODEL, input: `number ${asking.number} .`, ...body }),
  });
  const text = await response.text();
  if (response.status === 503) return undefined;
  stage.expect(response.status === 200, `created: ${response.status} ${text.slice(0, 200)}`);
  return response.status === 200 ? { tenant, id: created.parse(JSON.parse(text)).id } : undefined;
}

export interface Read {
  readonly status: number;
  /** That of the response. */
  readonly state: string;
}

/** Reads it through the stage's gateway, or another one. Another's response is a violation. */
export async function readResponse(
  stage: Stage,
  { tenant, id }: Stored,
  origin?: string,
): Promise<Read> {
  const asking = stage.next(tenant);
  const url = `${origin ?? asking.origin}/v1/responses/${id}`;
  const response = await fetch(url, toInit(asking));
  const text = await response.text();
  const { status } = response;
  if (status !== 200) {
    stage.expect(status === 404 || status === 503, `read: ${status} ${text.slice(0, 200)}`);
    return { status, state: "" };
  }
  const read = created.parse(JSON.parse(text));
  stage.expect(read.id === id, `${tenant} has read ${read.id} instead of ${id}`);
  return { status, state: read.status };
}

function toInit({ key }: Asking): RequestInit {
  return {
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
}
