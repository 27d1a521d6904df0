/**
 * The Harmony state machine: markers and ordinary text in, parts out (rules S0 to S9).
 *
 * It is independent of token ids and of how markers are spelled; `parse.ts` translates both. It accepts any
 * input: every marker has a meaning in every state, if only that the text before it has to be read differently.
 * Text is emitted as soon as its part is certain and is never taken back. Until then it is held back, up to a limit.
 *
 * The transitions are here, the messages they open and close in `machine-messages.ts`, ordinary text in
 * `machine-text.ts` and the states in `machine-state.ts`.
 */
import { isHeaderText } from "./header.ts";
import type { Header } from "./header.ts";
import { endsTurn, MachineMessages } from "./machine-messages.ts";
import type { MachineOptions, Terminator } from "./machine-messages.ts";
import { MARKER_LENGTH, positionOf, toHeader } from "./machine-state.ts";
import type { Between, FirstHeader, OpenHeader } from "./machine-state.ts";
import { MachineText } from "./machine-text.ts";
import type { Marker } from "./markers.ts";
import type { Parts } from "./parts.ts";
import type { Recovery } from "./recoveries.ts";

export type { MachineOptions } from "./machine-messages.ts";

export class Machine {
  readonly #messages: MachineMessages;
  readonly #text: MachineText;

  constructor(options: MachineOptions) {
    this.#messages = new MachineMessages(options);
    this.#text = new MachineText(this.#messages);
  }

  get parts(): Parts {
    return this.#messages.parts;
  }

  get recoveries(): ReadonlyMap<Recovery, number> {
    return this.#messages.recoveries;
  }

  get isDone(): boolean {
    return this.#messages.state.at === "ended";
  }

  get position(): "between" | "header" | "body" {
    return positionOf(this.#messages.state);
  }

  /** Whether ordinary text can only continue the open body. */
  get isFlowing(): boolean {
    return this.#messages.state.at === "body";
  }

  /** Whether ordinary text can only be the next delta of the open part, or of none if the body is skipped. */
  get isPlainBody(): boolean {
    return (
      this.isFlowing && !this.#messages.options.hidesMarkers && this.#messages.parts.isPassedOn
    );
  }

  /** Whether a marker here, spelled or real, would stand where the first header is expected. */
  get isAtFirstHeader(): boolean {
    const { state, options } = this.#messages;
    return state.at === "first-header" && isHeaderText(state.text, options.offered);
  }

  recover(recovery: Recovery): void {
    this.#messages.recover(recovery);
  }

  /** Reads ordinary text that `tokens` tokens were decoded to. */
  text(text: string, tokens: number): void {
    this.#text.push(text, tokens);
  }

  marker(marker: Marker): void {
    this.#text.endSplitting();
    const { state } = this.#messages;
    if (state.at === "ended") return this.#text.ignore(state);
    switch (marker) {
      case "start":
        return this.#start();
      case "channel":
      case "constrain":
        return this.#section(marker);
      case "message":
        return this.#message();
      case "end":
      case "call":
      case "return":
      case "endoftext":
        return this.#terminator(marker);
      case "startoftext":
        return this.recover("stray-marker");
    }
  }

  /** Ends the input. `isCut`: the engine stopped at a limit, not the model itself. */
  end(isCut: boolean): void {
    const messages = this.#messages;
    this.#text.end();
    const closer = isCut ? "cut" : "next";
    const { state } = messages;
    if (state.at === "first-header" || state.at === "between") messages.closeText(state, closer);
    else if (state.at === "header") messages.closeHeader(state, state, closer);
    else if (state.at === "body") messages.closeBody(state, closer);
    messages.finish();
  }

  #start(): void {
    const messages = this.#messages;
    const { state } = messages;
    switch (state.at) {
      case "first-header":
        if (isRoleAlone(state.text)) this.recover("repeated-start");
        else messages.closeText(state, "next");
        break;
      case "between":
        if (state.last === "return") this.recover("continued-after-return");
        messages.closeText(state, "next");
        break;
      case "header": {
        const [role] = state.sections;
        const isEmpty = state.sections.length === 1 && isRoleAlone(role?.text ?? "");
        if (isEmpty) this.recover("repeated-start");
        else messages.closeForNext();
        break;
      }
      case "body":
        messages.closeForNext();
        break;
      case "after-call":
      case "stripped":
      case "ended":
        break;
    }
    messages.openHeader("start", "");
  }

  #section(marker: "channel" | "constrain"): void {
    const messages = this.#messages;
    const { state } = messages;
    switch (state.at) {
      case "first-header":
      case "between": {
        const { opener, role } = this.#toRole(state);
        return messages.openHeader(opener, role, marker);
      }
      case "after-call":
        return messages.endAfterCall();
      case "header":
        return this.#nextSection(state, marker);
      case "body":
        if (marker === "constrain") return this.recover("stray-marker");
        messages.closeForNext();
        return messages.openHeader("nothing", "", marker);
      case "stripped":
      case "ended":
        return;
    }
  }

  #nextSection(state: OpenHeader, marker: "channel" | "constrain"): void {
    const messages = this.#messages;
    if (marker === "channel" && messages.hasBody(state)) {
      messages.closeForNext();
      messages.openHeader("nothing", "", marker);
    } else if (state.length + MARKER_LENGTH > messages.options.maxHeaderLength) {
      messages.overflow(state, state);
      this.marker(marker);
    } else {
      state.sections.push({ after: marker, text: "" });
      state.length += MARKER_LENGTH;
    }
  }

  #message(): void {
    const messages = this.#messages;
    const { state } = messages;
    switch (state.at) {
      case "first-header":
      case "between": {
        const { opener, role } = this.#toRole(state);
        if (this.isDone) return;
        return messages.openBody({ opener, sections: [{ after: "start", text: role }] }, false);
      }
      case "after-call":
        return messages.endAfterCall();
      case "header":
        return messages.openBody(state, state.isAfterCall);
      case "body":
        return this.recover("stray-marker");
      case "stripped":
      case "ended":
        return;
    }
  }

  #terminator(marker: Terminator): void {
    const messages = this.#messages;
    const { state } = messages;
    switch (state.at) {
      case "header":
        return messages.closeHeader(state, state, marker);
      case "body":
        return messages.closeBody(state, marker);
      case "first-header":
      case "between":
        if (state.text.trim() !== "") {
          messages.closeText(state, marker);
        } else {
          this.recover("stray-terminator");
          const endsCall = marker === "call" && state.at === "between" && state.last === "call";
          if (endsCall) messages.state = { at: "after-call" };
        }
        break;
      case "after-call":
        this.recover("stray-terminator");
        break;
      case "stripped":
      case "ended":
        return;
    }
    const isComplete = messages.parts.hasResult || messages.parts.hasOutside;
    if (endsTurn(marker) && isComplete) messages.finish();
  }

  /** A marker shows what the text before it was: a role, or text outside messages that may end with a role. */
  #toRole(state: FirstHeader | Between): { opener: Header["opener"]; role: string } {
    const messages = this.#messages;
    if (state.at === "between") this.recover("missing-start");
    if (isHeaderText(state.text, messages.options.offered)) {
      return { opener: toHeader(state).opener, role: state.text };
    }
    const [, text = state.text, role = ""] = /^(.*\s)(assistant\s*)$/s.exec(state.text) ?? [];
    messages.closeText({ ...state, text }, "next");
    return { opener: "nothing", role };
  }
}

function isRoleAlone(text: string): boolean {
  return /^\s*(?:assistant\s*)?$/i.test(text);
}
