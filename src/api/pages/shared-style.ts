/**
 * The style that all pages share: colours, the bar at the top, and pills. It is a string because `/api` is also served
 * where the gateway has no files; the pages that run scripts load it before their own style sheets.
 */
export const SHARED_STYLE = `\
:root {
  color-scheme: light dark;
  --bg: light-dark(#f7f7f5, #15161a);
  --panel: light-dark(#ffffff, #1d1f24);
  --ink: light-dark(#1c1d21, #e8e8ea);
  --quiet: light-dark(#5b5e68, #a3a7b2);
  --line: light-dark(#dcdde1, #34373f);
  --soft: light-dark(#efeff2, #282b31);
  --accent: light-dark(#2f54c8, #8fa8ff);
  font:
    14px/1.5 system-ui,
    -apple-system,
    "Segoe UI",
    "DejaVu Sans",
    sans-serif;
}
:root:has(> [data-theme="light"]) {
  color-scheme: light;
}
:root:has(> [data-theme="dark"]) {
  color-scheme: dark;
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  background: var(--bg);
  color: var(--ink);
}
:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 1px;
}
.quiet {
  color: var(--quiet);
}
.top {
  display: flex;
  align-items: center;
  gap: 0.75rem;
  flex: none;
  height: 3.25rem;
  padding: 0 0.9rem;
  background: var(--panel);
  border-bottom: 1px solid var(--line);
  font-size: 14.5px;
}
.brand {
  display: flex;
  align-items: center;
  gap: 0.55rem;
  margin: 0;
  font-size: 0.95rem;
  font-weight: 700;
  letter-spacing: -0.01em;
  color: inherit;
  text-decoration: none;
}
.logo {
  flex: none;
  width: 1.35rem;
  height: 1.35rem;
  border-radius: 0.4rem;
  background:
    linear-gradient(#fff, #fff) 50% 50% / 2px 62% no-repeat,
    linear-gradient(#fff, #fff) 26% 50% / 2px 30% no-repeat,
    linear-gradient(#fff, #fff) 74% 50% / 2px 40% no-repeat,
    #3452d9;
}
.places {
  display: flex;
  gap: 0.15rem;
}
.places a {
  font-size: 0.9rem;
  padding: 0.3rem 0.65rem;
  border-radius: 8px;
  color: var(--quiet);
  text-decoration: none;
}
.places a:hover {
  background: var(--soft);
  color: var(--ink);
}
.places a[aria-current] {
  color: var(--ink);
  background: var(--soft);
  font-weight: 600;
}
.status {
  display: flex;
  align-items: center;
  gap: 0.5rem;
  min-width: 0;
  margin: 0 0 0 auto;
  font-size: 0.87rem;
  color: var(--quiet);
  white-space: nowrap;
  font-variant-numeric: tabular-nums;
}
.pill {
  flex: none;
  display: inline-flex;
  align-items: center;
  gap: 0.3rem;
  min-height: 1.9rem;
  padding: 0.32rem 0.7rem;
  border: 1px solid var(--line);
  border-radius: 999px;
  background: transparent;
  color: var(--quiet);
  font-size: 0.82rem;
  line-height: 1.2;
  text-decoration: none;
  cursor: pointer;
}
.pill:hover {
  color: var(--ink);
  background-color: var(--soft);
}
@media (max-width: 760px) {
  .top {
    gap: 0.3rem;
    padding: 0 0.5rem;
  }
  .brand .name {
    position: absolute;
    width: 1px;
    overflow: hidden;
    clip-path: inset(50%);
  }
  .places a {
    padding: 0.3rem 0.45rem;
  }
  .fact ~ .fact {
    display: none;
  }
}
`;
