/** The codec of the Responses API: reads a request, prepares the turn and writes the reply. */
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import { EMPTY_ANSWER_COMMENT, EMPTY_ANSWER_HEADER } from "../reply/empty-answer.ts";
import { holding } from "../reply/held-reply.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { type BegunTurn, effortHeader, type TurnCodec, turnHeaders } from "../turn/serve-turn.ts";
import type { Background } from "./background.ts";
import { isCodex } from "./to-client.ts";
import type { ResponsesContext } from "./context.ts";
import { omissionHeaders } from "./omissions.ts";
import { type PreparedResponse, prepareResponse, responsesReader } from "./prepare.ts";
import type { ResponsesRequest } from "./request.ts";
import { collectResponse, runResponse } from "./run.ts";
import {
  keepAliveFrames,
  streamResponse,
  toFailureFrames,
  toFrames,
  withEvents,
  withFailure,
} from "./stream-response.ts";
import { getWaitUntil } from "./wait-until.ts";

interface BegunResponse extends BegunTurn<ResponsesRequest> {
  readonly isCodex: boolean;
  readonly waitUntil: (work: Promise<void>) => void;
}

interface OwnPrepared extends PreparedResponse, Pick<BegunResponse, "waitUntil"> {}

export function responsesCodec(
  context: ResponsesContext,
  background: Background,
): TurnCodec<ResponsesRequest, BegunResponse, OwnPrepared> {
  const { pause } = context;
  return {
    ...responsesReader(context),
    begin: (read, c) => ({
      ...read,
      isCodex: isCodex((name) => c.req.header(name)),
      waitUntil: getWaitUntil(c),
      headers: effortHeader(read.reasoning),
    }),
    async prepare({ waitUntil, ...read }, signal) {
      const { client, requestId } = read;
      const { responses } = context;
      const caller = { client, requestId, signal, isCodex: read.isCodex, responses };
      return { ...(await prepareResponse(read, caller, context)), waitUntil };
    },
    headers: toHeaders,
    replyAtOnce(prepared) {
      return prepared.request.background ? startLater(prepared, background) : undefined;
    },
    async collect(prepared, held, { signal }) {
      const events = holding(runResponse(prepared, context, signal), held);
      const body = await collectResponse(prepared, events, context);
      return { body, isEmpty: prepared.builder.isEmpty };
    },
    async open(prepared, opening) {
      const { hints, signal } = opening;
      const { id, builder, caller, request } = prepared;
      if (request.background) {
        const headers = toHeaders(prepared);
        await startLater(prepared, background);
        const events = background.follow(caller.client, id, -1, signal);
        return { frames: toFrames(events, { hints, pause }), headers };
      }
      const events = runResponse(prepared, context, signal);
      const streamed = withEvents(prepared, context);
      const begun = await untilBegun(streamResponse(streamed, events, context), opening);
      return {
        frames: toFrames(withFailure(begun, streamed, context, opening), { hints, pause }, () =>
          builder.isEmpty ? EMPTY_ANSWER_COMMENT : "",
        ),
        keepAlive: keepAliveFrames(streamed.writer, builder.prefill, context.keepAliveMs),
      };
    },
    toFailure: toFailureFrames,
  };
}

/** Returns the queued response, which is completed even if the client disconnects. */
async function startLater(
  { waitUntil, ...prepared }: OwnPrepared,
  background: Background,
): Promise<object> {
  const queued = prepared.builder.response();
  const { ended } = await background.start(prepared);
  waitUntil(ended);
  return queued;
}

function toHeaders({
  context: { outcome },
  omissions,
  builder,
  turn,
  read,
}: PreparedResponse): ResponseHeaders {
  return {
    ...turnHeaders(read, turn, outcome),
    ...omissionHeaders(omissions),
    ...(builder.isEmpty && EMPTY_ANSWER_HEADER),
  };
}
