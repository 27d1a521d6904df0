/**
 * The gateway's own headers of replies. Records keep them, web pages may read them, and objects that set them have this type, so
 * that any other name is a compile error.
 */
export const RESPONSE_HEADERS = [
  "request-id",
  "retry-after",
  "x-generation-id",
  "x-harmony-answer",
  "x-harmony-cot",
  "x-harmony-exact",
  "x-harmony-media",
  "x-harmony-reasoning-effort",
  "x-harmony-skipped",
  "x-harmony-skipped-fields",
  "x-harmony-skipped-items",
  "x-harmony-skipped-tools",
  "x-harmony-trained-tools",
  "x-harmony-unenforced-tools",
  "x-request-id",
] as const;

export type ResponseHeaders = {
  readonly [Name in (typeof RESPONSE_HEADERS)[number]]?: string;
};
