/** Checks that completions end at the right tokens, continue after others, and report the end. */
import { ENGINES } from "../../engines/create-engine.ts";
import { CALL, END, RETURN } from "../../harmony/tokens.ts";
import { specialTokenName, type TokenId } from "../../tokenizer/index.ts";
import type { Completion } from "../completion.ts";
import type { Examination } from "../examination.ts";
import { type Check, type Finding, notApplicable, ok, quoted } from "../finding.ts";
import { conversation, FINAL } from "../prompts.ts";

/** Number of tokens that shows that the completion continues. */
const ROOM = 4;

const STOP_RETURN: Check = {
  id: "stop-return",
  title: "It stops at <|return|>, and shows it",
  asked: "Whether the answer's last token ends a completion and is in its output.",
  means: "Without it, an answer that ended cannot be told from one that is a tool call.",
  run: (examination, signal) => expectStop(examination, RETURN, signal),
};

const STOP_CALL: Check = {
  id: "stop-call",
  title: "It stops at <|call|>, and shows it",
  asked: "Whether the last token of a tool call ends a completion and is in its output.",
  means: "Without it, the model goes on after a tool call and invents the tool's answer.",
  run: (examination, signal) => expectStop(examination, CALL, signal),
};

async function expectStop(
  examination: Examination,
  id: TokenId,
  signal: AbortSignal,
): Promise<Finding> {
  const name = specialTokenName(id) ?? "";
  if (!(await examination.obeysBias(signal))) return expectEnd(examination, id, signal);
  const completion = await forced(examination, id, [], signal);
  // Some engines do not apply a bias to tokens that end a completion, and write another token.
  const isForced = completion.text === "" || completion.text.includes(name);
  if (!isForced) return expectEnd(examination, id, signal);
  if (completion.finish?.reason !== "stop" || completion.tokens > 1) {
    return {
      verdict: "broken",
      came: `It went on after ${name}: ${quoted(completion.text)}.`,
      means: "Answers run on until their limit; what comes after the end is cut by the gateway.",
      change: END_IDS,
    };
  }
  return judgeVisible(examination, completion, name);
}

const END_IDS = "Its generation_config.json (or GGUF) must list 199999, 200002 and 200012 as ends.";

/** Checks an answer that ends without a bias. */
async function expectEnd(
  examination: Examination,
  id: TokenId,
  signal: AbortSignal,
): Promise<Finding> {
  const name = specialTokenName(id) ?? "";
  if (id === CALL) {
    return notApplicable("Its bias forces no call; the turns below have calls.");
  }
  const completion = await examination.call(conversation("Say hello."), { maxTokens: 512 }, signal);
  if (completion.finish?.reason !== "stop") {
    return notApplicable("Its bias forces no end, and the answer did not end within 512 tokens.");
  }
  return judgeVisible(examination, completion, name);
}

function judgeVisible(
  { engine, kind }: Examination,
  completion: Completion,
  name: string,
): Finding {
  if (completion.text.trimEnd().endsWith(name)) return ok(`It stopped, and ${name} came.`);
  const isKnown = kind !== undefined && !ENGINES[kind].capabilities.stopIdVisible;
  return {
    verdict: "degraded",
    came: `It stopped, and ${name} did not come.`,
    means: "A call is recognised by its header alone, and a silent cut looks like an end.",
    change: isKnown
      ? "None for this kind: the gateway reads the header instead."
      : `Let ${engine.name} return the token it stopped at; check extraBody and the server's version.`,
  };
}

const MESSAGE_END: Check = {
  id: "message-end",
  title: "It goes on after <|end|>",
  asked: "Whether it stops at the end of a message, where the turn continues.",
  means: "Every turn ends after its reasoning, without an answer.",
  async run(examination, signal) {
    const change = "Remove 200007 (<|end|>) from the ids and strings at which the server stops.";
    if (await examination.obeysBias(signal)) {
      const completion = await forced(examination, END, [], signal);
      const { finish, tokens } = completion;
      if (finish?.reason === "length" || tokens > 1) return ok("It wrote on.");
      return { verdict: "broken", came: "It stopped.", change };
    }
    const completion = await examination.call(
      conversation("Say hello."),
      { maxTokens: 512 },
      signal,
    );
    const { finish, text } = completion;
    if (/<\|channel\|>final/.test(text)) return ok("It reasoned, ended the message, and answered.");
    if (finish?.reason === "length") return notApplicable("It reasoned for 512 tokens.");
    return { verdict: "broken", came: `It stopped after ${quoted(text.slice(-60))}.`, change };
  },
};

const STOP_IDS: Check = {
  id: "stop-ids",
  title: "It stops at given ids",
  asked: "A completion that ends at <|end|> because the request says so.",
  means: "The gateway closes the stream instead, a few tokens later.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.stopIds) {
      return notApplicable("This kind takes none: the gateway closes the stream.");
    }
    if (!(await examination.obeysBias(signal))) {
      return notApplicable("It takes no bias, so that no token can be forced.");
    }
    const { finish, tokens, text } = await forced(examination, END, [END], signal);
    if (finish?.reason === "stop" && tokens <= 1) return ok("It stopped there.");
    return {
      verdict: "degraded",
      came: `It went on: ${quoted(text)}.`,
      change: "Update the server: it does not honour stop_token_ids.",
    };
  },
};

/** Forces one token repeatedly, unless it ends the completion. */
function forced(
  examination: Examination,
  id: TokenId,
  stopIds: readonly TokenId[],
  signal: AbortSignal,
): Promise<Completion> {
  const sampling = { logitBias: new Map([[id, 100]]) };
  const prompt = conversation("Say hello.", [...FINAL, "Hello!"]);
  return examination.call(prompt, { maxTokens: ROOM, sampling, stopIds }, signal);
}

export const STOP_CHECKS: readonly Check[] = [STOP_RETURN, STOP_CALL, MESSAGE_END, STOP_IDS];
