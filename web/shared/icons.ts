/** Icons in the colour of the text. A button with only an icon needs a name. */
import { svg, type SVGTemplateResult } from "lit-html";

const PATHS = {
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "M5 13l4 4L19 7",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  again: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  back: "M14 6l-6 6 6 6",
  next: "M10 6l6 6-6 6",
  swap: "M4 8h14l-3-3M20 16H6l3 3",
  look: "M4 12s3-6 8-6 8 6 8 6-3 6-8 6-8-6-8-6zM12 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4",
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  clip: "M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7",
  close: "M6 6l12 12M18 6L6 18",
  tool: "M14 6a4 4 0 0 0-5 5l-5 5 4 4 5-5a4 4 0 0 0 5-5l-3 2-2-2z",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  bin: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12",
  down: "M12 5v10M7 11l5 5 5-5M5 20h14",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13M15.5 15.5L20 20",
  help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18v.01",
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  braces:
    "M9 4c-3 0-3 2-3 4s0 3-2 4c2 1 2 2 2 4s0 4 3 4M15 4c3 0 3 2 3 4s0 3 2 4c-2 1-2 2-2 4s0 4-3 4",
  problem: "M12 4l9 16H3zM12 10v4M12 17v.01",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  light:
    "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  dark: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  system: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16M12 4v16M12 8h3.5M12 12h7M12 16h3.5",
} as const;

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): SVGTemplateResult {
  return svg`<svg class="icon icon-${name}" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
