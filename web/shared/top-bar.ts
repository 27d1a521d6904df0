/** The bar at the top of the chat and of the inspector. `/api`, which runs no script, contains equal HTML. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Place, PlaceLink } from "../../src/api/pages/places.ts";
import { iconButton } from "./icon-button.ts";
import { getTheme, nextTheme, setTheme } from "./theme.ts";

export interface TopBar {
  /** Links to pages. A turn in a file has none. */
  readonly places: readonly PlaceLink[];
  readonly current: Place;
  /** Button for content that a narrow window hides. */
  readonly menu: unknown;
  /** The status. Its parts with the class `fact`, except the first, are left out where there is no room. */
  readonly status: TemplateResult;
  /** Further buttons. */
  readonly tools: unknown;
  readonly showHelp: () => void;
  readonly redraw: () => void;
}

export function topBar(bar: TopBar): TemplateResult {
  const theme = getTheme();
  return html`<header class="top">
    ${bar.menu}
    <h1 class="brand">
      <span class="logo" aria-hidden="true"></span><span class="name">harmony-gateway</span>
    </h1>
    ${bar.places.length === 0 ? nothing : navigation(bar)}
    <p class="status">${bar.status}</p>
    <div class="tools">
      ${iconButton(
        theme,
        `Colours: ${theme}`,
        () => {
          setTheme(nextTheme());
          bar.redraw();
        },
        { style: "" },
      )}
      ${iconButton("help", "Keyboard", bar.showHelp, { style: "wide-only" })} ${bar.tools}
    </div>
  </header>`;
}

function navigation({ places, current }: TopBar): TemplateResult {
  return html`<nav class="places" aria-label="Pages">
    ${places.map(
      ({ name, href }) =>
        html`<a href=${href} aria-current=${name === current ? "page" : nothing}>${name}</a>`,
    )}
  </nav>`;
}
