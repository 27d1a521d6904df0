/** Makes a test fixture from a record: all that is needed to run the turn again, without the sender and the time. */
import type { TurnRecord } from "../../telemetry/record/schema.ts";

/** Headers that change how a request is read. */
const KEPT_HEADERS = new Set(["anthropic-version", "content-type"]);

export function toFixture(record: TurnRecord): TurnRecord {
  const { request, answer } = record;
  return {
    ...record,
    gateway: "0.0.0",
    id: "req_fixture",
    tenant: "anonymous",
    backend: null,
    request: request && {
      ...request,
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => KEPT_HEADERS.has(name)),
      ),
    },
    decisions: record.decisions.map((decision) => ({ ...decision, ms: 0 })),
    calls: record.calls.map((call) => ({
      ...call,
      attempts: [],
      backend: null,
      asked: 0,
      opened: call.opened === null ? null : 0,
      firstToken: call.firstToken === null ? null : 0,
      ended: call.ended === null ? null : 0,
      reads: call.reads.map((read) => ({ ...read, ms: 0 })),
    })),
    parts: record.parts.map((part) => ({ ...part, started: undefined, ended: undefined })),
    // An API's answers gain fields over time. A fixture tests the turn, so the answer's body is left out.
    answer: answer && { status: answer.status, contentType: answer.contentType, headers: {} },
    times: { accepted: 0, queued: null, asked: null, firstByte: null, firstToken: null, end: null },
  };
}
