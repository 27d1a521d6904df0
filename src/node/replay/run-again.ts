/**
 * Runs a recorded turn again: its request passes through the API, its recorded conversation becomes the prompt, and an engine,
 * recorded or real, answers. The result is another record.
 */
import { type AppDeps, createApp } from "../../app.ts";
import { toPresets } from "../../config/presets.ts";
import { resolveSettings } from "../../config/resolve.ts";
import type { KeySetting } from "../../config/key-setting.ts";
import type { SettingInput } from "../../config/setting-input.ts";
import type { Settings } from "../../config/settings.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Message } from "../../harmony/conversation.ts";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import { createModels, withTurnHook } from "../../models/models.ts";
import type { Pool } from "../../engines/pool.ts";
import { createLog } from "../../telemetry/log.ts";
import { Recorder } from "../../telemetry/record/recorder.ts";
import { headerOf, type TurnRecord } from "../../telemetry/record/schema.ts";
import { TurnPrompt } from "../../turn/prompt/prompt.ts";
import { DEFAULT_STEERING } from "../../turn/steering/settings.ts";
import { randomId } from "../random-id.ts";
import { readVersion } from "../version.ts";
import { contentText } from "./read-record.ts";
import { toRecordedToolbox, toRecordedTools } from "./recorded-tools.ts";

export interface Replayed {
  readonly record: TurnRecord;
  /** The current conversion of the request. Undefined: the request refers to data that only the recording gateway had stored. */
  readonly converted: readonly ConvertedMessage[] | undefined;
}

/** A message in the form of a record. */
export type ConvertedMessage = Pick<
  TurnRecord["conversation"][number],
  "role" | "name" | "recipient" | "channel" | "contentType" | "order" | "text"
>;

/** @param contextLength context length of a real engine; undefined: as in the record. */
export async function runAgain(
  record: TurnRecord,
  engine: Engine | Pool,
  contextLength?: number,
): Promise<Replayed> {
  const settings = toSettings(record);
  const recorder = new Recorder({
    limits: { maxRecordBytes: 2 ** 30, maxTotalBytes: 2 ** 30, maxRecords: 1000 },
    keepsContent: true,
    gateway: readVersion(),
    now: () => new Date(record.at),
    clock: () => performance.now(),
  });
  recorder.listen(() => {});
  const length = contextLength ?? record.settings?.contextLength ?? undefined;
  const served = createModels(
    [
      {
        id: record.model,
        engine,
        layout: settings.layout,
        ...(length && { contextLength: length }),
      },
    ],
    {
      steering: settings,
      newCallId: () => `call_${randomId()}`,
      presets: toPresets(settings),
    },
  );
  const { converted } = await sendAgain(
    record,
    {
      settings,
      models: served,
      recorder,
      host: "127.0.0.1",
      log: createLog({ level: "silent", now: Date.now, write: () => undefined }),
      now: () => Date.parse(record.at),
      randomId,
    },
    { headers: { "x-request-id": record.id } },
  );
  const [entry] = recorder.kept.entries;
  if (entry === undefined) {
    throw new Error(`There is no API at ${record.request?.path} that makes turns.`);
  }
  return { record: await entry.record(), converted };
}

interface SendAgainOptions {
  /** Headers in addition to the recorded ones. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * Sends the recorded request to a separate application, and reads the answer to its end. The first turn has the recorded
 * conversation as its prompt, and recorded results replace the gateway's tools.
 *
 * @returns the current conversion of the request; undefined as in {@link Replayed}
 */
export async function sendAgain(
  record: TurnRecord,
  deps: Omit<AppDeps, "toolbox">,
  { headers, signal }: SendAgainOptions,
): Promise<Pick<Replayed, "converted"> & { readonly status: number }> {
  if (record.request === null) {
    throw new Error("The record has no request: its turn was made by the gateway itself.");
  }
  const { path, method, headers: recorded } = record.request;
  const { body: replayable, isComplete } = toReplayable(contentText(record.request.body));
  // A message of a WebSocket is an ordinary request, whose response is always streamed.
  const body = method === "WEBSOCKET" ? replayable.replace("{", '{"stream":true,') : replayable;
  let converted: ConvertedMessage[] | undefined;
  const app = createApp({
    ...deps,
    models: withTurnHook(deps.models, (_, turn, until, run) => {
      if (converted !== undefined) return run(turn, until);
      converted = toConverted(turn.prompt.messages);
      const gatewayTools = toRecordedTools(record, turn.gatewayTools);
      return run(
        {
          ...turn,
          prompt: new TurnPrompt(toMessages(record)),
          ...(gatewayTools && { gatewayTools }),
        },
        until,
      );
    }),
    toolbox: toRecordedToolbox(record),
  });
  const response = await app.request(path, {
    method: "POST",
    headers: { ...recorded, "content-type": "application/json", ...headers },
    body,
    ...(signal && { signal }),
  });
  await response.body?.pipeTo(new WritableStream(), signal && { signal });
  return { converted: isComplete ? converted : undefined, status: response.status };
}

/** The settings that affect the turn. All others have their default. */
function toSettings(record: TurnRecord): Settings {
  const { settings, model } = record;
  const resolved = resolveSettings(toPresetInput(settings?.preset, model), { public: false });
  if (settings === null) return resolved;
  return { ...withRecordedSettings(resolved, record), engine: "demo", servedName: model };
}

/** The current settings, with the recorded values of those that affect the turn or belong to its key. */
export function withRecordedSettings(current: Settings, { settings }: TurnRecord): Settings {
  if (settings === null) return current;
  const { layout, reasoningPolicy, steering, builtins, toolRuns, shownTools, mappedTools } =
    settings;
  const policies = ["raw", "sealed", "summary", "none"] as const;
  // Each setting that a key can override affects its turns, except its limits: the type requires each of them here.
  const ofKey = {
    nameShield: shownTools === undefined ? "off" : "on",
    trainedTools: mappedTools === undefined ? "off" : "direct",
    reasoningPolicy: policies.find((each) => each === reasoningPolicy) ?? "raw",
    reasoningContentMirror: current.reasoningContentMirror,
    reasoningEvents: current.reasoningEvents,
  } satisfies Pick<Settings, Exclude<KeySetting, `${string}PerKey`>>;
  return {
    ...current,
    ...toSteering(steering),
    ...ofKey,
    layout,
    // The recorded turn was accepted, and its prompt is taken from the record.
    mediaInput: "placeholder",
    citations: toolRuns?.citations ?? current.citations,
    builtinTools: current.builtinTools.filter((each) => builtins.some(({ name }) => name === each)),
  };
}

/** Settings that define the recorded preset, because the request names it as its model. */
function toPresetInput(
  preset: NonNullable<TurnRecord["settings"]>["preset"],
  model: string,
): SettingInput[] {
  if (preset === undefined) return [];
  const { name, values, lock, instructions } = preset;
  const text = instructions === undefined ? {} : { instructions: contentText(instructions) };
  const source = "the record";
  return [
    { name: "servedName", value: model, source },
    { name: "presets", value: { [name]: { model, ...values, lock, ...text } }, source },
  ];
}

/** Only settings that affect a turn are accepted: the file may come from anywhere. */
function toSteering(recorded: Readonly<Record<string, unknown>>): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(DEFAULT_STEERING).flatMap(([name, value]) =>
      typeof recorded[name] === typeof value ? [[name, recorded[name]]] : [],
    ),
  );
}

function toConverted(messages: readonly Message[]): ConvertedMessage[] {
  const hasFunctions = offersFunctions(messages);
  return messages.map((message) => ({
    ...headerOf(message),
    text: bodyText(message, hasFunctions),
  }));
}

/** Text of system and developer messages is rendered unchanged. */
function toMessages({ conversation }: TurnRecord): Message[] {
  return conversation.map((message) => ({
    ...headerOf(message),
    content: contentText(message.text),
  }));
}

/** The body of a request, without parts that only the recording gateway can resolve: stored responses and encrypted reasoning. */
interface ReplayableBody {
  readonly body: string;
  /** False: something was removed, so the body is not the whole conversation. */
  readonly isComplete: boolean;
}

/** Fields that refer to stored data, removed from the request. */
const REFERENCES = ["previous_response_id", "conversation", "background"];

function toReplayable(body: string): ReplayableBody {
  const value: unknown = JSON.parse(body);
  if (typeof value !== "object" || value === null) return { body, isComplete: true };
  const fields = new Map<string, unknown>(Object.entries(value));
  let isComplete = true;
  for (const name of REFERENCES) {
    const known = fields.get(name);
    if (known === undefined || known === null || known === false) continue;
    fields.delete(name);
    if (name !== "background") isComplete = false;
  }
  const input = fields.get("input");
  if (Array.isArray(input)) {
    const kept = input.filter((item: unknown) => !needsStore(item));
    if (kept.length < input.length) {
      isComplete = false;
      fields.set("input", kept.length > 0 ? kept : "(items that were stored)");
    }
  }
  // The text is kept unchanged where possible: the order of members and the spelling of numbers matter in schemas.
  const isChanged = !isComplete || fields.size < Object.keys(value).length;
  return { body: isChanged ? JSON.stringify(Object.fromEntries(fields)) : body, isComplete };
}

function needsStore(item: unknown): boolean {
  if (typeof item !== "object" || item === null) return false;
  const type: unknown = Reflect.get(item, "type");
  return (
    type === "item_reference" ||
    type === "compaction" ||
    (type === "reasoning" && typeof Reflect.get(item, "encrypted_content") === "string")
  );
}
