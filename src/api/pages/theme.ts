/** The theme that the user has chosen in the chat or the inspector, which store it in a cookie. */

export type Theme = "light" | "dark";

export const THEME_COOKIE = "harmony-gateway-theme";

/** Undefined: the system decides. */
export function toTheme(given: string | undefined): Theme | undefined {
  return given === "light" || given === "dark" ? given : undefined;
}
