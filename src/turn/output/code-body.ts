import { asObject, parseJson } from "../../engines/untyped-json.ts";

/**
 * Reads the body of a call that is code. Models that treat the tool as a function write `{"code": "…"}` instead. Text
 * that begins with a brace is held until its end, because only the complete text shows which form it has.
 */
export interface CodeBody {
  /** Returns text that is certainly code. */
  push(text: string): string;
  /** Returns the rest of the code. */
  end(): string;
  /** Whether the code came as a JSON argument. */
  wasWrapped(): boolean;
}

export function createCodeBody(): CodeBody {
  let held: string | undefined = "";
  let wasWrapped = false;
  return {
    wasWrapped: () => wasWrapped,
    push(text) {
      if (held === undefined) return text;
      held += text;
      if (/^\s*(?:\{|$)/.test(held)) return "";
      const code = held;
      held = undefined;
      return code;
    },
    end() {
      const rest = held ?? "";
      held = undefined;
      const code = unwrap(rest);
      wasWrapped = code !== undefined;
      return code ?? rest;
    },
  };
}

function unwrap(text: string): string | undefined {
  const { code, ...others } = asObject(parseJson(text));
  const isAlone = Object.keys(others).length === 0;
  return isAlone && typeof code === "string" ? code : undefined;
}
