/**
 * The interface between the application and its APIs. Each API has a folder whose `api.ts` exports an {@link Api};
 * `src/app.ts` lists them. Code of a single API stays in its folder.
 */
import type { Hono, HonoRequest } from "hono";
import type { UpgradeWebSocket } from "hono/ws";
import type { PromptRulesOf } from "../config/key-setting.ts";
import type { Settings } from "../config/settings.ts";
import type { SystemOptions } from "../harmony/messages.ts";
import type { Models } from "../models/models.ts";
import type { Shutdown } from "../models/shutdown.ts";
import type { EntryDeps } from "../store/entries.ts";
import type { GuardedStore } from "../store/guarded-store.ts";
import type { ReasoningCipher } from "../store/reasoning-cipher.ts";
import type { ReasoningOutcome, ReasoningStore } from "../store/reasoning-store.ts";
import type { Audit } from "../telemetry/audit.ts";
import type { Log } from "../telemetry/log.ts";
import type { RecordedApi } from "../telemetry/record/exchange.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { ResponseHeaders } from "../telemetry/response-headers.ts";
import type { Pause } from "../streams/slices.ts";
import type { ApiEnv } from "./request/client.ts";
import type { ErrorDescription } from "./errors.ts";
import type { OpenMedia } from "./media/open-media.ts";
import type { StreamDeps } from "./reply/stream-reply.ts";
import type { ProcessState } from "../lazy.ts";
import type { ByteBudget } from "./request/byte-budget.ts";
import type { HostedDeps } from "./tools/hosted-tools.ts";

export interface Api {
  /** The API's name in records of turns. */
  readonly name: RecordedApi;
  /** Path of the requests for a turn, below each prefix of the API: `/responses`. These requests are recorded. */
  readonly turnPath: string;
  /**
   * Whether a request belongs to this API: by its path, or by a header where two APIs share a path. The first API of the
   * application that claims a request authenticates it and formats its errors, also where no route matches.
   */
  readonly claims: (request: HonoRequest) => boolean;
  /** Called once, when the application is created. */
  readonly routes: (services: Services) => readonly ApiRoutes[];
  readonly authentication: Authentication;
  readonly errorEnvelope: ErrorEnvelope;
  /** Whole paths, such as `/v1/responses`, where a GET may open a WebSocket. */
  readonly webSocketPaths?: readonly string[];
}

/** Routes below a prefix. Requests that reach them are authenticated and their bodies limited in size. */
export interface ApiRoutes {
  /** `/v1` */
  readonly prefix: string;
  readonly app: Hono<ApiEnv>;
}

export interface Authentication {
  /** The keys in a request, in the places where this API's clients send them. One known key is enough. */
  readonly presentedKeys: (request: HonoRequest) => readonly string[];
  /** A sentence for requests without a key: how to send one. */
  readonly instruction: string;
}

/** Formats an error for this API. */
export type ErrorEnvelope = (error: ErrorDescription, request: FailedRequest) => ErrorReply;

export interface FailedRequest {
  readonly id: string;
  readonly path: string;
}

export interface ErrorReply {
  /**
   * May differ from the description's status, except 404: for a 404, the application looks for other methods of the
   * path.
   */
  readonly status: number;
  /** Sent as JSON. */
  readonly body: object;
  /** In addition to `content-type`, `retry-after` and `www-authenticate`, which all APIs share. */
  readonly headers?: ResponseHeaders;
}

/** Services of the application for every API. */
export interface Services extends StreamDeps {
  readonly settings: Settings;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => Omit<SystemOptions, "effort">;
  readonly promptRules: PromptRulesOf;
  readonly models: Models;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  readonly reasoning: ReasoningStore;
  readonly cipher: ReasoningCipher;
  /** Rejects with a `StoreError` when it fails. */
  readonly store: GuardedStore;
  readonly onUnreadable: EntryDeps["onUnreadable"];
  readonly shutdown: Shutdown;
  /** State that is kept when the settings are replaced. */
  readonly state: ProcessState;
  /** Budget for the request bodies of all clients. */
  readonly uploads: ByteBudget;
  /** Budget for replies that have not been sent. */
  readonly replies: ByteBudget;
  /** Tools that the gateway runs for the model. */
  readonly hosted: HostedDeps;
  readonly openMedia: OpenMedia;
  readonly readsPdfs: boolean;
  /** Absent: this runtime has no WebSockets. */
  readonly webSockets: WebSocketOptions | undefined;
  /** Absent: no turns are recorded. */
  readonly recorder: Recorder | undefined;
  /** Undefined: nothing is audited. */
  readonly audit: Audit | undefined;
  readonly log: Log;
  readonly meters: Meters;
  readonly now: () => number;
  /** Returns unguessable letters and digits. */
  readonly randomId: () => string;
  /** Called with the place where the reasoning of a step was found, unless `reasoning` has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

/**
 * Prefixes of OpenAI-compatible APIs: the base URL of OpenAI's clients ends in `/v1`, that of OpenRouter's in
 * `/api/v1`.
 */
export const OPENAI_PREFIXES = ["/v1", "/api/v1"];

/** `Authorization: Bearer <key>`, the header of most APIs. */
export const BEARER: Authentication = {
  presentedKeys(request) {
    const key = /^Bearer +(\S+)$/i.exec(request.header("authorization") ?? "")?.[1];
    return key === undefined ? [] : [key];
  },
  instruction: "Send it as `Authorization: Bearer <key>`.",
};

export interface WebSocketOptions {
  /** The runtime's function that turns a request into a WebSocket. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each runtime has its own type of socket
  readonly upgrade: UpgradeWebSocket<any>;
  /**
   * Aborted when the server shuts down or has new settings: each connection closes after its in-flight response. The
   * client's next connection is authenticated again.
   */
  readonly closing?: AbortSignal;
}
