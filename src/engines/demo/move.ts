/** What the demo engine does next. */
export type Move =
  | {
      readonly type: "call";
      readonly tool: string;
      readonly input: string;
      readonly position: CallPosition;
    }
  | { readonly type: "answer" }
  /** All calls are written, results have not come. */
  | { readonly type: "wait" };

/** The `number`th call of `of`, counted from 1. */
export interface CallPosition {
  readonly number: number;
  readonly of: number;
}
