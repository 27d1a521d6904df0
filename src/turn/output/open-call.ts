/** Calls that the gateway runs: how they are given out, and how one is read while the model writes it. */
import type { PartHeader } from "../../harmony/call-form.ts";
import type { PartStart } from "../../harmony/parts.ts";
import {
  type CitationMode,
  type CitedText,
  type FindSource,
  NO_CITATIONS,
  type TextReader,
} from "./citations.ts";
import { type CodeBody, createCodeBody } from "./code-body.ts";
import type { ApprovedCall, GatewayCallPart } from "../turn.ts";

/** A call that the gateway runs, as the model wrote it. */
export interface WrittenCall {
  readonly part: GatewayCallPart;
  /** Code or arguments. */
  readonly body: string;
  /** The same as it stands in the transcript. */
  readonly raw: string;
  readonly header: PartHeader | undefined;
}

/** How calls that the gateway runs, and citations of what they found, are given out. */
export interface EmittedGatewayTools {
  /** The recipient of a function that the gateway runs. Undefined for a function of the client. */
  readonly recipientOf: (name: string) => string | undefined;
  /** Properties of the tool that are reported with the call. */
  readonly describe: (recipient: string) => Pick<GatewayCallPart, "origin" | "awaitsApproval">;
  /** Code came as a JSON argument. */
  readonly onWrappedCode: () => void;
  readonly citations: CitationMode;
  readonly cite: FindSource;
}

/** The part of a call that begins. */
export function toGatewayPart(
  { id, name }: Pick<GatewayCallPart, "id" | "name">,
  gatewayTools: EmittedGatewayTools | undefined,
  approved: ApprovedCall | undefined,
): GatewayCallPart {
  const { origin, awaitsApproval } = gatewayTools?.describe(name) ?? {};
  return {
    kind: "builtin-call",
    id,
    name,
    ...(origin && { origin }),
    ...(awaitsApproval && !approved && { awaitsApproval }),
    ...(approved?.requestId !== undefined && { approvalRequestId: approved.requestId }),
  };
}

/** The call that is being written. Reads its body. */
export class OpenCall implements TextReader {
  readonly #header: PartHeader | undefined;
  /** Absent: the body is JSON. */
  readonly #code: CodeBody | undefined;
  #raw = "";

  constructor(event: PartStart) {
    this.#header = event.header;
    if (event.part === "builtin-call" && event.rawBody) this.#code = createCodeBody();
  }

  push(text: string): CitedText {
    this.#raw += text;
    return { text: this.#code?.push(text) ?? text, citations: NO_CITATIONS };
  }

  end(): CitedText {
    return { text: this.#code?.end() ?? "", citations: NO_CITATIONS };
  }

  /** The code came as a JSON argument. */
  get wasWrapped(): boolean {
    return this.#code?.wasWrapped() ?? false;
  }

  toWritten(part: GatewayCallPart, body: string): WrittenCall {
    return { part, body, raw: this.#raw, header: this.#header };
  }
}
