/**
 * Input that a client adds to an in-flight response. The response ends after the result of a gateway tool, or by
 * itself, and a successor continues it with the input. If a response waits for its client, the input is added to the
 * request that continues the response.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { OutputItem } from "./to-response.ts";

/** Maximum number of inputs of a connection that no response has used yet; below, their maximum size. */
const MAX_STEERS = 64;
const MAX_CHARACTERS = 65_536;

const userMessage = lazy(() =>
  z.object({
    type: z.literal("message").default("message"),
    role: z.literal("user"),
    content: z.union([
      z.string(),
      z.array(z.looseObject({ type: z.enum(["input_text", "input_image", "input_file"]) })).min(1),
    ]),
  }),
);

const steerInput = z.lazy(() =>
  z.union([
    z
      .string()
      .transform((content) => [{ type: "message" as const, role: "user" as const, content }]),
    z.array(userMessage()).min(1).max(MAX_STEERS),
  ]),
);

/** Accepted input. */
export interface Steer {
  readonly id: string;
  readonly responseId: string;
  readonly sent: unknown;
  readonly items: z.output<typeof steerInput>;
  readonly characters: number;
}

type SteerError = keyof typeof MESSAGES;

const MESSAGES = {
  response_not_found: "No response with this id is generated on this connection.",
  invalid_input: "input: must be a text, or user messages with text, images or files.",
  steering_not_supported:
    "Only responses with tools that the gateway runs are steered, without a conversation and without compaction. Send the input with response.create.",
  too_many_pending_steers: `At most ${MAX_STEERS} inputs of ${MAX_CHARACTERS} characters together wait on a connection. Send the input with response.create.`,
  successor_creation_failed:
    "The response has ended without a successor. Send the input with response.create.",
} as const;

interface Target {
  readonly lane: string | undefined;
  readonly isSteered: boolean;
  /** Characters that may still be added to the request of the response. */
  readonly room: number;
  readonly steers: Steer[];
}

/** An event, and the lane of its response. */
export interface SteerEvent {
  readonly event: object;
  readonly lane: string | undefined;
}

export class Steers {
  readonly #newId: () => string;
  /** Responses in flight, by id. */
  readonly #targets = new Map<string, Target>();
  /** Input of responses that wait for their client, by id of the response. */
  readonly #waiting = new Map<string, readonly Steer[]>();
  #count = 0;
  #characters = 0;

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Starts accepting input for a response. */
  begin(responseId: string, target: Omit<Target, "steers">): void {
    this.#targets.set(responseId, { ...target, steers: [] });
  }

  /** Accepts or refuses input. */
  add(responseId: string, sent: unknown): SteerEvent {
    const target = this.#targets.get(responseId);
    const lane = target?.lane;
    const refuse = (code: SteerError) => ({ lane, event: failed({ responseId, sent }, code) });
    if (target === undefined) return refuse("response_not_found");
    if (!target.isSteered) return refuse("steering_not_supported");
    const characters = JSON.stringify(sent ?? null).length;
    const own = target.steers.reduce((sum, each) => sum + each.characters, characters);
    const isFull = this.#count >= MAX_STEERS || this.#characters + characters > MAX_CHARACTERS;
    if (isFull || own > target.room) return refuse("too_many_pending_steers");
    const items = steerInput.safeParse(sent).data;
    if (items === undefined) return refuse("invalid_input");
    const steer = { id: `steer_${this.#newId()}`, responseId, sent, items, characters };
    target.steers.push(steer);
    this.#add([steer], 1);
    return { lane, event: toEvent("response.steer.accepted", steer) };
  }

  isWanted(responseId: string): boolean {
    return (this.#targets.get(responseId)?.steers.length ?? 0) > 0;
  }

  /** Stops accepting input for a response. Returns the accepted input. */
  end(responseId: string): readonly Steer[] {
    const steers = this.#targets.get(responseId)?.steers ?? [];
    this.#targets.delete(responseId);
    this.#add(steers, -1);
    return steers;
  }

  /** Stores the input of a response for the request that continues it. Returns the events for the client. */
  wait(responseId: string, steers: readonly Steer[], required: readonly object[]): object[] {
    this.#waiting.set(responseId, steers);
    this.#add(steers, 1);
    const members = { reason: "waiting_for_required_input", required_input: required };
    return steers.map((steer) => toEvent("response.steer.pending", steer, members));
  }

  /** Returns and removes the input for the request that continues this response. */
  takeWaiting(responseId: string): readonly Steer[] {
    const steers = this.#waiting.get(responseId) ?? [];
    this.#waiting.delete(responseId);
    this.#add(steers, -1);
    return steers;
  }

  #add(steers: readonly Steer[], sign: 1 | -1): void {
    this.#count += sign * steers.length;
    for (const { characters } of steers) this.#characters += sign * characters;
  }
}

/** The event that returns input which no response can use. */
export function failed(
  steer: Pick<Steer, "responseId" | "sent"> & Partial<Pick<Steer, "id">>,
  code: SteerError,
): object {
  const { id, responseId, sent } = steer;
  return {
    type: "response.steer.failed",
    error: { type: "invalid_request_error", code, message: MESSAGES[code] },
    steer: { ...(id !== undefined && { id }), previous_response_id: responseId, input: sent },
    sequence_number: 0,
  };
}

function toEvent(type: string, { id, responseId }: Steer, members: object = {}): object {
  const steer = { id, previous_response_id: responseId };
  return { type, ...members, steer, sequence_number: 0 };
}

/** The results and approvals for which a response waits, without their values. */
export function requiredInput(output: readonly OutputItem[]): object[] {
  return output.flatMap((item): object[] => {
    switch (item.type) {
      case "function_call":
        return [{ type: "function_call_output", call_id: item.call_id, name: item.name }];
      case "custom_tool_call":
        return [{ type: "custom_tool_call_output", call_id: item.call_id }];
      case "tool_search_call":
        if (item.execution !== "client") return [];
        return [{ type: "tool_search_output", call_id: item.call_id }];
      case "mcp_approval_request":
        return [{ type: "mcp_approval_response", approval_request_id: item.id }];
      default:
        return [];
    }
  });
}

/** Appends members to the text of a request: if a name is repeated, the later member counts. */
export function withMembers(message: string, members: object): string {
  return `${message.trimEnd().slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}
