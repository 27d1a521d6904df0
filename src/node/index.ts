/**
 * The gateway on Node for programs that start it themselves: the whole server, or the parts that need Node. The command
 * `harmony-gateway` uses the same parts.
 */

// The whole server: application, HTTP listener and monitored engines.
export { startGateway, type StartOptions } from "./start-gateway.ts";
export type { Gateway, ServeOptions } from "./server/serve.ts";
export { ListenError } from "./server/listen-error.ts";
export { loadSettings, type LoadedSettings } from "./cli/settings.ts";

// Parts, for an application on your own server.
export { toNodeHandler } from "./node-handler.ts";
export { openStore, type OpenStore } from "./open-store.ts";
export { createUndiciTransport, type UndiciTransport } from "./engine-http/undici-transport.ts";
