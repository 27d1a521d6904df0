/**
 * The gateway on Node, for programs that start it themselves: whole, or the parts that only Node has. The
 * command `harmony-gateway` is made of the same.
 */

// The whole: a port, an application behind it, and engines that are looked after.
export { startGateway, type Gateway, type ServeOptions } from "./serve.ts";
export { ListenError } from "./listen.ts";
export { loadSettings, type LoadedSettings } from "./settings.ts";

// Parts, for an application on a server of one's own.
export { openStore, type OpenStore } from "./open-store.ts";
export { createUndiciTransport, type UndiciTransport } from "./undici-transport.ts";
