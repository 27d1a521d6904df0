/**
 * The headers of pages that run scripts: no other origins, no inline code, no frames, and no HTML from strings. `lit-html`
 * creates the only Trusted Types policy, for its own templates.
 */
export const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The headers of a page's files. Their URLs contain a version, under which they never change. */
export const FILE_HEADERS = {
  ...PAGE_HEADERS,
  "cache-control": "public, max-age=31536000, immutable",
};
