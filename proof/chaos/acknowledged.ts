/**
 * Clients that note the acknowledged entries of a gateway until it is killed, and check that their tenants can read
 * them afterwards.
 */
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { findStreamProblem } from "../fuzz/check-response.ts";
import type { Random } from "../fuzz/random.ts";
import { MODEL } from "./asking.ts";
import { answerText } from "./engine.ts";
import type { Stage } from "./phase.ts";

export const KINDS = ["plain", "stream", "background", "conversation"] as const;
export type CreatedKind = (typeof KINDS)[number];
const TENANTS = ["a", "b", "c"] as const;
const MOST_WORDS = 8;

export interface Created {
  readonly kind: CreatedKind;
  readonly tenant: (typeof TENANTS)[number];
  readonly id: string;
  /** Number of words in the answer, or in the conversation's item. */
  readonly words: number;
  /** False: the gateway was killed after it had named the id. The entry may be missing, but not incomplete. */
  readonly isAcknowledged: boolean;
}

interface Asked {
  readonly random: Random;
  readonly kinds: readonly CreatedKind[];
  readonly over: AbortSignal;
}

/** Sends requests one after the other until the gateway is gone, and one more once it is over. */
export async function askUntilOver(
  stage: Stage,
  origin: string,
  { random, kinds, over }: Asked,
  note: (created: Created) => void,
): Promise<void> {
  for (let isLast = false; !isLast;) {
    isLast = over.aborted;
    const about = {
      kind: random.pick(kinds),
      tenant: random.pick(TENANTS),
      words: random.between(1, MOST_WORDS),
    };
    try {
      const seen = await create(stage, origin, about);
      if (seen.id !== "") note({ ...about, ...seen });
      if (seen.isCut) return;
    } catch {
      return;
    }
  }
}

const named = z.object({ id: z.string() });

/** Rejects when the gateway is gone before an id was read. */
async function create(
  stage: Stage,
  origin: string,
  { kind, tenant, words }: Pick<Created, "kind" | "tenant" | "words">,
): Promise<Pick<Created, "id" | "isAcknowledged"> & { readonly isCut: boolean }> {
  const { key, number } = stage.next(tenant);
  const input = `words ${words} number ${number} .`;
  const isConversation = kind === "conversation";
  const response = await fetch(`${origin}/v1/${isConversation ? "conversations" : "responses"}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(
      isConversation
        ? { items: [{ type: "message", role: "user", content: answerText(words) }] }
        : {
            model: MODEL,
            input,
            stream: kind === "stream",
            background: kind === "background",
          },
    ),
  });
  let text = "";
  let isCut = false;
  try {
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(
      new TextDecoderStream(),
    )) {
      text += chunk;
    }
  } catch {
    isCut = true;
  }
  stage.expect(response.status === 200, `${kind}: ${response.status} ${text.slice(0, 200)}`);
  if (kind === "stream") {
    const id = /"type":"response\.created".*?"id":"(resp_\w+)"/.exec(text)?.[1] ?? "";
    return { id, isAcknowledged: text.includes('"type":"response.completed"'), isCut };
  }
  if (isCut || response.status !== 200) return { id: "", isAcknowledged: false, isCut: true };
  return { id: named.parse(JSON.parse(text)).id, isAcknowledged: true, isCut };
}

const response = z.looseObject({
  status: z.string(),
  output: z.array(
    z.looseObject({ content: z.array(z.object({ text: z.string() }).partial()).optional() }),
  ),
});

const items = z.looseObject({ data: z.array(z.unknown()).length(1) });

/** Returns its state: that of the response, `gone`, or `there` for a conversation. Violations are recorded. */
export async function checkCreated(
  stage: Stage,
  origin: string,
  created: Created,
): Promise<string> {
  const { kind, id, words, isAcknowledged } = created;
  const path = kind === "conversation" ? `conversations/${id}/items` : `responses/${id}`;
  const { status, text } = await read(stage, origin, created, path);
  const tenant = TENANTS.find((each) => each !== created.tenant) ?? "a";
  const other = await read(stage, origin, { tenant }, path);
  stage.expect(other.status === 404, `${tenant} read ${kind} ${id} of ${created.tenant}`);
  const says = `${kind} ${id}: ${status} ${text.slice(0, 300)}`;
  if (status === 404 && !isAcknowledged) return "gone";
  if (status !== 200) {
    stage.expect(false, `acknowledged and lost: ${says}`);
    return "gone";
  }
  if (kind === "conversation") {
    const isWhole = items.safeParse(JSON.parse(text)).success && text.includes(answerText(words));
    stage.expect(isWhole, `half there: ${says}`);
    return "there";
  }
  const ended = response.parse(JSON.parse(text));
  const written = ended.output.flatMap(({ content = [] }) =>
    content.map((part) => part.text ?? ""),
  );
  const isEnded = ended.status === "completed";
  stage.expect(isEnded || kind === "background", `half there: ${says}`);
  if (isEnded) stage.expect(written.join("") === answerText(words), `half there: ${says}`);
  return ended.status;
}

async function read(
  stage: Stage,
  origin: string,
  { tenant }: Pick<Created, "tenant">,
  path: string,
): Promise<{ status: number; text: string }> {
  const { key } = stage.next(tenant);
  const answer = await fetch(`${origin}/v1/${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: answer.status, text: await answer.text() };
}

/** Longer than the half minute after which a gateway considers the process of a response dead. */
const PATIENCE_MS = 90_000;

/** Waits until a background response has ended, and follows its events to the same end. Returns its status. */
export async function expectEnd(stage: Stage, origin: string, created: Created): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS;
  let status = await checkCreated(stage, origin, created);
  while ((status === "queued" || status === "in_progress") && performance.now() < deadline) {
    await pause(500);
    status = await checkCreated(stage, origin, created);
  }
  const { text } = await read(stage, origin, created, `responses/${created.id}?stream=true`);
  const problem = findStreamProblem(text);
  const says = `background ${created.id}, ${status}: ${text.slice(-300)}`;
  stage.expect(status === "completed" || status === "failed", `not ended: ${says}`);
  stage.expect(problem === undefined, `its events: ${problem}: ${says}`);
  stage.expect(text.includes(`"type":"response.${status}"`), `its events end otherwise: ${says}`);
  return status;
}
