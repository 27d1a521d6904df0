/** The commands: name, synopsis, purpose, and the module, which is loaded when the command runs. */
import type { Command } from "./command-io.ts";

interface Entry {
  /** The arguments after the name. */
  readonly synopsis: string;
  /** One line of the help. */
  readonly purpose: string;
  /** The command is for developers: it shows prompts and outputs. */
  readonly isTool?: true;
  load(): Promise<Command>;
}

export const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    synopsis: "[settings]",
    purpose: "serve; the same as without a command",
    load: async () => (await import("./serve.ts")).SERVE,
  },
  doctor: {
    synopsis: "[settings]",
    purpose: "ask an engine what the gateway relies on; what to change",
    load: async () => (await import("./doctor/command.ts")).DOCTOR,
  },
  connect: {
    synopsis: "<client>",
    purpose: "print or write a client's settings, or start it with them",
    load: async () => (await import("./connect/command.ts")).CONNECT,
  },
  key: {
    synopsis: "[name]",
    purpose: "create a client key and its hash; --sealing: a sealing key",
    load: async () => (await import("./key.ts")).KEY,
  },
  store: {
    synopsis: "[action]",
    purpose: "count, prune or delete what the file of state has",
    load: async () => (await import("./store.ts")).STORE,
  },
  usage: {
    synopsis: "[file …]",
    purpose: "add up requests and tokens of the audit file",
    load: async () => (await import("./usage.ts")).USAGE,
  },
  config: {
    synopsis: "[settings]",
    purpose: "print the settings in effect, without secrets",
    load: async () => (await import("./settings.ts")).CONFIG,
  },
  render: {
    synopsis: "[options]",
    purpose: "print the prompt of a request",
    isTool: true,
    load: async () => (await import("./render.ts")).RENDER,
  },
  parse: {
    synopsis: "[options]",
    purpose: "print how a model's output is parsed",
    isTool: true,
    load: async () => (await import("./parse.ts")).PARSE,
  },
  convert: {
    synopsis: "[options]",
    purpose: "convert conversations: chat, Harmony, ids, OpenChatML",
    isTool: true,
    load: async () => (await import("./convert/command.ts")).CONVERT,
  },
  replay: {
    synopsis: "<turn.json>",
    purpose: "run a recorded turn again, print what differs",
    isTool: true,
    load: async () => (await import("./replay.ts")).REPLAY,
  },
};
