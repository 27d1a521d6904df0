/**
 * Light or dark, if the reader prefers another theme than the system's. A cookie stores it, so that the gateway writes it into
 * the HTML of each page, which is never drawn in the wrong colours first.
 */
import { THEME_COOKIE, type Theme, toTheme } from "../../src/api/pages/theme.ts";

export type ThemeChoice = Theme | "system";

const YEAR_SECONDS = 31_536_000;
const CHOICES = ["system", "light", "dark"] as const;

export function getTheme(): ThemeChoice {
  return toTheme(document.body.dataset["theme"]) ?? "system";
}

export function nextTheme(): ThemeChoice {
  return CHOICES[(CHOICES.indexOf(getTheme()) + 1) % CHOICES.length] ?? "system";
}

export function setTheme(theme: ThemeChoice): void {
  if (theme === "system") delete document.body.dataset["theme"];
  else document.body.dataset["theme"] = theme;
  const { pathname } = new URL(".", location.href);
  const seconds = theme === "system" ? 0 : YEAR_SECONDS;
  document.cookie = `${THEME_COOKIE}=${theme}; path=${pathname}; max-age=${seconds}; samesite=strict`;
}
