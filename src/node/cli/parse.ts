/** `harmony-gateway parse`: prints how a raw completion is parsed, with the repairs. */
import { parseArgs } from "node:util";
import { systemOptions } from "../../config/system-options.ts";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import { createParser, type ParseEvent, toFinishReason } from "../../harmony/parse.ts";
import { o200kHarmony } from "../../tokenizer/index.ts";
import * as z from "zod";
import { isRequest, requestConversation } from "./captured-request.ts";
import { type Command, isTerminal, parseJsonInput, readInput } from "./command-io.ts";
import { paint, showText, visible } from "./control-signs.ts";
import { readRecord } from "../replay/read-record.ts";
import { loadSettings } from "./settings.ts";
import { toRecordedParts } from "./show-record.ts";
import type { TurnRecord } from "../../telemetry/record/schema.ts";

export const PARSE: Command = {
  usage: `\
harmony-gateway parse [completion.txt | -] [options]

Reads what a model wrote after <|start|>assistant and prints its parts, the reason to finish and every repair
by name. The completion is text with the markers spelled out, or with --ids a JSON array of token ids. Of the record of a
turn it prints what was made of the output then, with the places of the repairs; of a request to an API the messages
that the model would read. What looks like a control token and is text has a
backslash where there are no colours.

  --ids             the input is a JSON array of token ids
  --tools <names>   the functions that were offered, with commas; default: none
  --length          the engine stopped at its token limit
  --json            print everything as JSON
  --color           colours even where the output is no terminal; --no-color: none`,
  async run(args, { environment, print }) {
    print(await runParse(args, environment));
    return 0;
  },
};

interface ParsedPart {
  readonly part: string;
  readonly name?: string;
  text: string;
}

/** Parses a completion and returns the output. Accepts anything that a model may write. */
async function runParse(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      ids: { type: "boolean" },
      tools: { type: "string", default: "" },
      length: { type: "boolean" },
      json: { type: "boolean" },
      color: { type: "boolean" },
    },
  });
  const [file = "-"] = positionals;
  if (positionals.length > 1) {
    throw new TypeError("parse: name one file with a completion, or - for standard input.");
  }
  const input = await readInput(file);

  const coloured = values.color ?? (isTerminal() && !environment["NO_COLOR"]);
  const bold = (text: string) => (coloured ? paint("bold", text) : text);
  const record = values.ids ? undefined : readRecord(input);
  if (record !== undefined) return showRecord(record, values.json ?? false, bold);
  if (!values.ids && isRequest(input)) return showRequest(input, environment, bold);

  const toolNames = values.tools.split(",").filter((name) => name !== "");
  const parser = createParser(o200kHarmony(), { toolNames });
  const reason = values.length ? "length" : "stop";
  const events = [
    ...(values.ids
      ? parser.pushIds(z.array(z.int()).parse(parseJsonInput(input, file)))
      : parser.pushText(input.replace(/\n$/, ""))),
    ...parser.end(reason),
  ];
  const parts = toParts(events);
  const finish = toFinishReason(
    reason,
    parts.some(({ part }) => part === "tool-call"),
  );
  const recoveries = Object.fromEntries(parser.recoveries);
  if (values.json) return JSON.stringify({ parts, finish, recoveries }, null, 2);

  const repairs = Object.entries(recoveries).map(([name, count]) => `${name} × ${count}`);
  return [
    ...parts.map(
      ({ part, name, text }) =>
        `${bold(name === undefined ? part : `${part} ${name}`)}\n${coloured ? visible(text) : showText(text, undefined)}\n`,
    ),
    `${bold("finish")} ${finish}`,
    `${bold("repairs")} ${repairs.length > 0 ? repairs.join(", ") : "none"}`,
  ].join("\n");
}

function showRecord(record: TurnRecord, asJson: boolean, bold: (text: string) => string): string {
  const parts = toRecordedParts(record);
  const finish = record.end?.outcome ?? "running";
  const { recoveries } = record;
  if (asJson) return JSON.stringify({ parts, finish, recoveries }, null, 2);
  return [
    ...parts.map(({ part, name, text }) => {
      return `${bold(name === undefined ? part : `${part} ${name}`)}\n${showText(text, undefined)}\n`;
    }),
    `${bold("finish")} ${finish}`,
    ...recoveries.map(({ name, call, at, became }) => {
      return `${bold("repair")} ${name} in call ${call + 1} after ${at}: ${became}`;
    }),
  ].join("\n");
}

function showRequest(
  input: string,
  environment: Readonly<Record<string, string | undefined>>,
  bold: (text: string) => string,
): string {
  const { settings } = loadSettings([], environment);
  const { messages } = requestConversation(input, systemOptions(settings, Date.now()));
  const hasFunctions = offersFunctions(messages);
  return messages
    .map((message) => {
      const { role, name, recipient, channel } = message;
      const header = [role, name, channel, recipient && `to ${recipient}`].filter(Boolean);
      const text = showText(bodyText(message, hasFunctions), undefined);
      return `${bold(header.join(" "))}\n${text}\n`;
    })
    .join("\n");
}

function toParts(events: readonly ParseEvent[]): ParsedPart[] {
  const parts: ParsedPart[] = [];
  for (const event of events) {
    const last = parts.at(-1);
    if (event.type === "part-start") {
      parts.push({ part: event.part, ...("name" in event && { name: event.name }), text: "" });
    } else if (event.type === "part-delta" && last) {
      last.text += event.text;
    }
  }
  return parts;
}
