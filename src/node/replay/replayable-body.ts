/** Removes from a request what only the gateway that served it can resolve: stored responses and encrypted reasoning. */

export interface ReplayableBody {
  readonly body: string;
  /** False: something was removed, so the body is not the whole conversation. */
  readonly isComplete: boolean;
}

/** Fields that refer to what is stored, and what a request without them has instead. */
const REFERENCES = ["previous_response_id", "conversation", "background"];

export function toReplayable(body: string): ReplayableBody {
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
  // The text is kept unchanged where possible: the order of keys and the spelling of numbers matter in schemas.
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
