/** The colours that a reader has chosen, from the cookie that the chat sets. */

export type Theme = "light" | "dark";

export const THEME_COOKIE = "harmony-gateway-theme";

/** @param cookies the header. Undefined: the system decides. */
export function themeOf(cookies = ""): Theme | undefined {
  const [, theme] = /(?:^|;\s*)harmony-gateway-theme=(light|dark)(?:;|$)/.exec(cookies) ?? [];
  return theme === "light" || theme === "dark" ? theme : undefined;
}
