/** Long content, of which only the visible part is in the document. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { drawNow } from "../shared/redraw.ts";
import { update } from "./store.ts";

/** An element that renders its content when it approaches the screen, and keeps its height afterwards. */
class LazyBlock extends HTMLElement {
  /** Creates the content. Set before the element is connected. */
  content: (() => TemplateResult) | undefined;
  /** Changes with the content. */
  #key: unknown;
  #isShown = false;
  readonly #observer = new IntersectionObserver(
    (entries) => {
      const isNear = entries.at(-1)?.isIntersecting ?? false;
      if (isNear !== this.#isShown) this.#show(isNear);
    },
    { rootMargin: "800px" },
  );

  set key(key: unknown) {
    if (key === this.#key) return;
    this.#key = key;
    if (this.#isShown) this.#show(true);
  }

  connectedCallback(): void {
    this.#observer.observe(this);
  }

  disconnectedCallback(): void {
    this.#observer.disconnect();
  }

  #show(isNear: boolean): void {
    if (!isNear) this.style.minHeight = `${this.offsetHeight}px`;
    this.#isShown = isNear;
    render(isNear ? (this.content?.() ?? nothing) : nothing, this);
    if (isNear) this.style.minHeight = "";
  }
}

customElements.define("lazy-block", LazyBlock);

/**
 * Content in blocks of `size` items. Up to one block is rendered at once.
 *
 * @param key changes with the items
 */
export function inBlocks<T>(
  items: readonly T[],
  size: number,
  key: unknown,
  block: (items: readonly T[]) => TemplateResult,
): TemplateResult {
  if (items.length <= size) return block(items);
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return html`${starts.map((from) => {
    const own = items.slice(from, from + size);
    return html`<lazy-block .content=${() => block(own)} .key=${key}></lazy-block>`;
  })}`;
}

/** Height of a row in pixels, as in the style sheet. */
const ROW_HEIGHT = 68;

/** Rows in a box that scrolls, with at most the window's height: only visible rows are in the document. */
export function fixedRows<T>(
  items: readonly T[],
  keyOf: (item: T) => number,
  row: (item: T) => TemplateResult,
): TemplateResult {
  const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - 5);
  const last = Math.min(items.length, Math.ceil((scrollTop + innerHeight) / ROW_HEIGHT) + 5);
  return html`<div class="spacer" .style=${`height:${items.length * ROW_HEIGHT}px`}>
    <div class="rows" .style=${`transform:translateY(${first * ROW_HEIGHT}px)`}>
      ${repeat(items.slice(first, last), keyOf, row)}
    </div>
  </div>`;
}

let scrollTop = 0;

/** The scroll handler of the box around {@link fixedRows}. */
export function onListScroll(event: Event): void {
  if (!(event.currentTarget instanceof HTMLElement)) return;
  ({ scrollTop } = event.currentTarget);
  update({});
}

/** Index of the row at the top of the box. */
export function rowAtTop(): number {
  return Math.floor(scrollTop / ROW_HEIGHT);
}

/** Scrolls the box with its rows, which have moved down by a number of rows. */
export function keepInPlace(by: number): void {
  if (by === 0) return;
  // The box must have the height of its rows before it scrolls.
  drawNow();
  const box = document.querySelector(".list-box");
  if (box !== null) box.scrollTop += by * ROW_HEIGHT;
}

/** Scrolls the box so that a row can be seen. */
export function revealRow(index: number): void {
  const box = document.querySelector(".list-box");
  if (!(box instanceof HTMLElement)) return;
  const top = index * ROW_HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + ROW_HEIGHT - box.clientHeight;
  }
}
