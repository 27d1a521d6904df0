/** Calls that the gateway runs: reads a call while the model writes it, and creates the emitted part. */
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

/** A call that the gateway runs, in the model's form. */
export interface WrittenCall {
  readonly part: GatewayCallPart;
  /** Code or arguments. */
  readonly body: string;
  /** The body in the form of the transcript. */
  readonly raw: string;
  readonly header: PartHeader | undefined;
}

/** The form in which gateway calls and citations of their results are emitted. */
export interface EmittedGatewayTools {
  /** The recipient of a function that the gateway runs. Undefined for a function of the client. */
  readonly recipientOf: (name: string) => string | undefined;
  /** Properties of the tool that are reported with the call. */
  readonly describe: (recipient: string) => Pick<GatewayCallPart, "origin" | "awaitsApproval">;
  /** Called when code came as a JSON argument. */
  readonly onWrappedCode: () => void;
  readonly citations: CitationMode;
  readonly cite: FindSource;
}

/** Creates the part of a beginning call. */
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
