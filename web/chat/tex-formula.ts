/** Draws a formula. The text is shown unchanged until the code is loaded, and if its TeX is not supported. */
import { html, type TemplateResult } from "lit-html";
import type { Formula } from "./formulas.ts";

/** A formula as a separate element, which is drawn once, although the text around it is drawn at each token. */
export function formula({ raw, tex, isDisplay }: Formula): TemplateResult {
  return html`<tex-formula tex=${tex} written=${raw.trim()} ?display=${isDisplay}></tex-formula>`;
}

class TexFormula extends HTMLElement {
  static readonly observedAttributes = ["tex", "written", "display"];
  #isDue = false;

  attributeChangedCallback(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => void this.#draw());
  }

  async #draw(): Promise<void> {
    this.#isDue = false;
    const tex = this.getAttribute("tex") ?? "";
    this.#showWritten();
    try {
      const { drawFormula } = await import("./math.ts");
      if (tex === this.getAttribute("tex")) drawFormula(this, tex, this.hasAttribute("display"));
    } catch {
      // The TeX is not supported, or there is no connection.
      this.#showWritten();
    }
  }

  #showWritten(): void {
    this.textContent = this.getAttribute("written");
  }
}

customElements.define("tex-formula", TexFormula);
