/**
 * TeX as MathML, which browsers render: no fonts, no HTML strings, no inline styles in markup. Loaded with the first formula of
 * an answer.
 */
import temml from "temml";

/** Limits for a hostile formula: expansions of macros, and the size of rules and spaces in em. */
const BOUNDS = { maxExpand: 500, maxSize: [40, 40] as [number, number] };

/** @throws for TeX that Temml does not support; the element is then empty */
export function drawFormula(element: HTMLElement, tex: string, displayMode: boolean): void {
  temml.render(tex, element, { displayMode, throwOnError: true, trust: false, ...BOUNDS });
}
