/** Routes about a prompt: counting its tokens, and compacting it. */
import { type Context, Hono } from "hono";
import { toPrivateModel } from "../../models/private-turns.ts";
import { collectTurn } from "../../turn/collect.ts";
import type { ApiEnv } from "../request/client.ts";
import { describeTurnFailure } from "../errors.ts";
import { presetSampling } from "../request/apply-preset.ts";
import { type Parser, readRequest } from "../request/parse-request.ts";
import type { ModelRequest } from "../request/requested-model.ts";
import { createStages } from "../request/stages.ts";
import { finishedSummary, UNFINISHED_SUMMARY } from "../reply/summary-text.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { toResponsesError } from "./errors.ts";
import { toFittingTurn } from "./fitting-turn.ts";
import { withMediaTexts } from "./history.ts";
import { openResponseServers } from "./mcp-items.ts";
import { loadContext } from "./load-context.ts";
import { findModel } from "../turn/serve-turn.ts";
import { toPromptContext, unknownModel, withPresetEffort } from "./prepare.ts";
import { compactRequest, inputTokensRequest } from "./request.ts";
import { toItemId } from "./response-store.ts";
import { showItem } from "./to-client.ts";
import { sealSummary, SUMMARY_REQUEST } from "./compaction.ts";
import { toResponseUsage } from "./to-response.ts";
import { turnMaker } from "./to-turn.ts";

export function promptRoutes(context: ResponsesContext): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.post("/responses/input_tokens", (c) => countInputTokens(c, context));
  app.post("/responses/compact", (c) => compact(c, context));
  return app;
}

/** Reads a request about a prompt, and loads its conversation. */
async function readPrompt<R extends ModelRequest & Parameters<typeof loadContext>[0]>(
  c: Context<ApiEnv>,
  schema: Parser<R>,
  context: ResponsesContext,
) {
  const bodyText = await c.req.text();
  const stages = createStages(bodyText.length, context.pause);
  const request = await readRequest(bodyText, schema, context.limits, stages);
  const requested = findModel(request, c.get("client").models, { unknownModel });
  const caller = toCaller(c, context);
  const id = `resp_${context.randomId()}`;
  const loaded = await loadContext(request, id, caller, context);
  await stages.next();
  const { tenant } = caller.client;
  const media = context.openMedia(tenant);
  const reading = { media, mediaRules: context.unsupported.mediaRules };
  const history = await withMediaTexts(loaded.history, reading, caller.signal);
  const read = { requestId: caller.requestId, requested, tenant, bodyText, now: context.now() };
  return { read, stages, request, caller, id, loaded, media, history };
}

async function countInputTokens(c: Context<ApiEnv>, context: ResponsesContext): Promise<Response> {
  const { request: sent, ...own } = await readPrompt(c, inputTokensRequest, context);
  const { read, stages, loaded, media, history } = own;
  const { model, preset, effort: namedEffort } = read.requested;
  const request = withPresetEffort(sent, preset);
  const prompt = { ...toPromptContext({ ...read, namedEffort }, context), sampled: loaded.sampled };
  const servers = await openResponseServers(request, history, { ...prompt, media });
  const { turnOf } = await stages.run(turnMaker(request, { ...prompt, history, servers }));
  const { turn } = await toFittingTurn(request, model, { turnOf, prompt, history }, context.pause);
  return c.json({
    object: "response.input_tokens",
    input_tokens: await model.countTurnTokens(turn, c.req.raw.signal),
  });
}

/** Asks the model for a summary and encrypts it. Instructions and the user's messages stay as they are. */
async function compact(c: Context<ApiEnv>, context: ResponsesContext): Promise<Response> {
  const { read, stages, request, caller, id, loaded, ...own } = await readPrompt(
    c,
    compactRequest,
    context,
  );
  const { model, preset } = read.requested;
  const { tenant } = read;
  const shortened = {
    ...request,
    ...(preset && presetSampling({}, preset)),
    tool_choice: "none",
    truncation: "auto",
    reasoning: { effort: "low" },
  } as const;
  const prompt = toPromptContext({ ...read, namedEffort: undefined }, context);
  const history = [...own.history, SUMMARY_REQUEST];
  const { turnOf } = await stages.run(turnMaker(shortened, { ...prompt, history }));
  const fitting = { turnOf, prompt, history };
  const { turn } = await toFittingTurn(shortened, model, fitting, context.pause);
  const runner = loaded.isPrivate ? toPrivateModel(model) : model;
  const finished = await collectTurn(runner.run(turn, c.req.raw.signal));
  const summary = finishedSummary(finished);
  if (summary === undefined) {
    const failure = describeTurnFailure(UNFINISHED_SUMMARY);
    return c.json({ error: toResponsesError(failure) }, 502);
  }
  const kept = [...loaded.earlier, ...loaded.input]
    .filter(({ type, role }) => type === "message" && role !== "assistant")
    .map((item) => showItem(item, caller.client));
  const compaction = {
    id: toItemId(id, "cmp", kept.length),
    type: "compaction",
    encrypted_content: await sealSummary(summary, tenant, context.cipher),
  };
  return c.json({
    id,
    object: "response.compaction",
    created_at: Math.floor(context.now() / 1000),
    output: [...kept, compaction],
    usage: toResponseUsage(finished.end.usage),
  });
}

function toCaller(c: Context<ApiEnv>, { responses }: ResponsesContext): Caller {
  return {
    client: c.get("client"),
    requestId: c.get("requestId"),
    signal: c.req.raw.signal,
    isCodex: false,
    responses,
  };
}
