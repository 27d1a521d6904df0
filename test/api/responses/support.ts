/** Requests to the Responses API without a server. Responses are checked by schema. */
import type { AppDeps } from "../../../src/app.ts";
import type { Engine, Store } from "../../../src/index.ts";
import { appOf } from "../../helpers/app.ts";
import {
  lazyGateway,
  type LazyGateway,
  ON_WORKERS,
  testLog,
  testSettings,
} from "../../helpers/gateway.ts";
import { consume } from "./consumer.ts";
import { type ResponseObject, responseObject } from "./schemas.ts";

/** A key for the setting `sealingKeys`. */
export const SEALING_KEY = "a".repeat(43);

export const MODEL = "openai/gpt-oss-20b";

export interface ResponsesAppOptions {
  readonly engine: Engine;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
  readonly contextLength?: number;
  readonly shutdown?: NonNullable<AppDeps["shutdown"]>;
  readonly now?: () => number;
  /** Monotonic. */
  readonly clock?: () => number;
  /** Run here in the project `workerd`, too: the test needs internals that are not visible over a network. */
  readonly here?: boolean;
}

export interface ResponsesApp {
  /** Any request; a body is sent as JSON, a string unchanged. */
  readonly send: (
    method: string,
    path: string,
    body?: object | string,
    key?: string,
  ) => Promise<Response>;
  /** A plain response: status 200 and all keys. The model is optional. */
  readonly create: (body: object, key?: string) => Promise<ResponseObject>;
  /** A streamed response, with every event checked. */
  readonly stream: (body: object, key?: string) => Promise<ResponseObject>;
  /** The lines of the log, parsed. */
  readonly logged: readonly Record<string, unknown>[];
}

/**
 * In the project `workerd` this runs the bundle in its runtime, unless a test passes something that cannot be sent
 * there.
 */
export function responsesApp(options: ResponsesAppOptions): ResponsesApp {
  const { engine, settings, store, contextLength, shutdown, now, here = false } = options;
  if (!ON_WORKERS || shutdown !== undefined || store !== undefined || now !== undefined || here)
    return inProcess(options);
  const gateway = lazyGateway({
    models: [{ id: MODEL, engine, ...(contextLength !== undefined && { contextLength }) }],
    settings: { log: "debug", layout: "reference", ...settings },
  });
  return {
    get logged() {
      return gateway.logged;
    },
    ...toResponsesApp(gateway.fetch),
  };
}

function inProcess(options: ResponsesAppOptions): ResponsesApp {
  const { engine, settings, store, contextLength, shutdown, now = Date.now, clock } = options;
  const logged: Record<string, unknown>[] = [];
  const layout = "reference" as const;
  const model = {
    id: MODEL,
    engine,
    layout,
    ...(contextLength !== undefined && { contextLength }),
  };
  const app = appOf(testSettings({ layout, ...settings }), [model], {
    ...(store && { store }),
    ...(shutdown && { shutdown }),
    log: testLog(logged),
    now,
    ...(clock && { clock }),
  });

  return { logged, ...toResponsesApp(async (path, init) => app.request(path, init)) };
}

function toResponsesApp(request: LazyGateway["fetch"]): Omit<ResponsesApp, "logged"> {
  async function send(method: string, path: string, body?: object | string, key?: string) {
    return request(path, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      ...(body !== undefined && {
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    });
  }

  return {
    send,
    async create(body, key) {
      const response = await send("POST", "/v1/responses", { model: MODEL, ...body }, key);
      if (response.status !== 200) throw new Error(await response.text());
      return responseObject.parse(await response.json());
    },
    async stream(body, key) {
      const streamed = { model: MODEL, ...body, stream: true };
      const response = await send("POST", "/v1/responses", streamed, key);
      if (response.status !== 200) throw new Error(await response.text());
      return consume(await readEvents(response));
    },
  };
}

/** The events of a stream. Checks each frame: its type twice, its body once, and `[DONE]` at the end. */
export async function readEvents(response: Response): Promise<{ type: string }[]> {
  if (response.headers.get("content-type") !== "text/event-stream; charset=utf-8") {
    throw new Error(`not a stream: ${await response.text()}`);
  }
  const frames = (await response.text()).split("\n\n");
  if (frames.pop() !== "" || frames.pop() !== "data: [DONE]") throw new Error("the end is missing");
  // A comment: the mark of an empty answer.
  const events = frames.filter((frame) => !frame.startsWith(":"));
  return events.map((frame) => {
    const [, type, json] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? [];
    if (json === undefined) throw new Error(`not a frame: ${frame}`);
    const event: { type: string } = JSON.parse(json);
    if (event.type !== type) throw new Error(`two types in one frame: ${frame}`);
    return event;
  });
}
