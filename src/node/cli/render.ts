/** `harmony-gateway render`: prints the prompt of a chat request. */
import { parseArgs } from "node:util";
import { systemOptions } from "../../config/system-options.ts";
import { type DroppedMessage, dropFinishedAnalysis } from "../../harmony/analysis.ts";
import type { Message } from "../../harmony/conversation.ts";
import { createRenderer } from "../../harmony/render.ts";
import type { RenderedPrompt, Segment } from "../../harmony/prompt.ts";
import { o200kHarmony, type TokenId } from "../../tokenizer/index.ts";
import { requestConversation } from "./captured-request.ts";
import { type Command, isTerminal, parseJsonInput, readInput } from "./command-io.ts";
import { type Colour, explainSigns, showText, showToken } from "./control-signs.ts";
import { readRecord } from "../replay/read-record.ts";
import { loadSettings } from "./settings.ts";
import { toRecordedDrops, toRecordedPrompt } from "./show-record.ts";

export const RENDER: Command = {
  usage: `\
harmony-gateway render <request.json | -> [options]

Prints the prompt of a request to one of the APIs, or the one in the record of a turn: one colour for each
role and channel, how many tokens it has, and which reasoning was dropped. Real control tokens are inverse; without
colours those that were typed have a backslash. Identity, date and layout are those of the settings in the environment.

  --ids            print the token ids instead of the text
  --json           print everything as JSON
  --date <date>    the date in the system message, 2026-01-31; default: that of the settings
  --color          colours even where the output is no terminal; --no-color: none`,
  async run(args, { environment, print }) {
    print(await runRender(args, environment));
    return 0;
  },
};

const COLOURS: Record<string, Colour> = {
  system: "magenta",
  developer: "blue",
  user: "green",
  analysis: "gray",
  commentary: "yellow",
  final: "cyan",
  tool: "red",
};

/** Renders the prompt and returns the output. Throws a `RequestError` for a request that the API would reject. */
async function runRender(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      ids: { type: "boolean" },
      json: { type: "boolean" },
      date: { type: "string" },
      color: { type: "boolean" },
    },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) {
    throw new TypeError(
      "render: name one file with a request, or - for standard input. harmony-gateway render --help says more.",
    );
  }

  const bodyText = await readInput(file);
  // The request reader's error would not name the file.
  parseJsonInput(bodyText, file);
  const { prompt, kept, dropped } = toPrompt(bodyText, values.date, environment);

  if (values.json) {
    const { ids, segments } = prompt;
    return JSON.stringify(
      {
        tokens: prompt.length,
        messages: segments.map((segment) => ({
          ...label(segment),
          tokens: segment.length,
          text: textOf(segment),
        })),
        dropped: dropped.map(({ index, finishedBy, message }) => ({
          index,
          finishedBy,
          text: message.content,
        })),
        ids,
      },
      null,
      2,
    );
  }
  if (values.ids) return prompt.ids.join(" ");

  const coloured = values.color ?? (isTerminal() && !environment["NO_COLOR"]);
  const text = prompt.segments
    .map((segment) => show(segment, coloured ? colourOf(segment) : undefined))
    .join("");
  return [
    text,
    "",
    `${prompt.length} tokens in ${kept} messages.`,
    ...(coloured ? [] : explainSigns(typedText(prompt.segments))),
    ...dropped.map(explain),
  ].join("\n");
}

interface ShownPrompt {
  readonly prompt: RenderedPrompt;
  /** Number of messages. */
  readonly kept: number;
  readonly dropped: readonly DroppedMessage[];
}

/** The prompt of a recorded turn, or the prompt that a request would have now. */
function toPrompt(
  text: string,
  date: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ShownPrompt {
  const record = readRecord(text);
  if (record !== undefined) {
    const dropped = toRecordedDrops(record);
    const kept = record.conversation.length - dropped.length;
    return { prompt: toRecordedPrompt(record), kept, dropped };
  }
  const { settings } = loadSettings([], environment);
  const system = systemOptions(settings, Date.now());
  const { messages } = requestConversation(text, date === undefined ? system : { ...system, date });
  const { kept, dropped } = dropFinishedAnalysis(messages);
  const prompt = createRenderer({ layout: settings.layout }).renderCompletion({ messages: kept });
  return { prompt, kept: kept.length, dropped };
}

function typedText(segments: readonly Segment[]): string {
  return segments
    .flatMap(runsOf)
    .map(({ typed = "" }) => typed)
    .join("\n");
}

/** A control token, or the text between two of them: typed control characters may span several tokens. */
type Run = { readonly token: string; readonly typed?: never } | { readonly typed: string };

function runsOf(segment: Segment): Run[] {
  const pieces = segment.type === "rendered" ? segment.pieces : [];
  const runs: Run[] = [];
  let typed = "";
  for (const { special, text } of pieces) {
    if (!special) {
      typed += text;
      continue;
    }
    if (typed !== "") runs.push({ typed });
    runs.push({ token: text });
    typed = "";
  }
  return typed === "" ? runs : [...runs, { typed }];
}

function show(segment: Segment, colour: Colour | undefined): string {
  return runsOf(segment)
    .map((run) => ("token" in run ? showToken(run.token, colour) : showText(run.typed, colour)))
    .join("");
}

function label(segment: Segment): { role: string; channel?: string; recipient?: string } {
  const message = segment.type === "rendered" ? segment.message : undefined;
  if (!message) return { role: "assistant" };
  const { role, channel, recipient } = message;
  return {
    role,
    ...(channel !== undefined && { channel }),
    ...(recipient !== undefined && { recipient }),
  };
}

function textOf(segment: Segment): string {
  return o200kHarmony().decode(idsOf(segment));
}

function idsOf(segment: Segment): readonly TokenId[] {
  if (segment.type === "appended") return segment.ids;
  return segment.pieces.flatMap((piece) => [...piece.ids]);
}

function colourOf(segment: Segment): Colour {
  const { role, channel = "" } = label(segment);
  return (role === "tool" ? COLOURS["tool"] : (COLOURS[channel] ?? COLOURS[role])) ?? "white";
}

function explain({ message, index, finishedBy }: DroppedMessage): string {
  return `Dropped message ${index} (${preview(message)}): the answer in message ${finishedBy} finished its turn.`;
}

function preview({ content }: Message): string {
  const text = typeof content === "string" ? content : "";
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text);
}
