/** Trained tools that the model is shown in place of the client's, and their calls. */

/** The client's tool that does the same as a trained one. */
export interface ToolMapping {
  /** Identifies the client's tool, as `OfferedTool.name` does. */
  readonly name: string;
  /** The table of the conversion and its version, for records. */
  readonly profile: string;
  /** The client's calls have a text instead of JSON arguments. */
  readonly isText: boolean;
  /** It only reads. */
  readonly isRead: boolean;
  /** The client's call for the body that the model wrote. */
  toClient(body: string): MappedCall;
}

export type MappedCall =
  /** `notes`: what was changed or left out. */
  | { readonly body: string; readonly notes: readonly string[] }
  /** It cannot be converted. For the model. */
  | { readonly problem: string };

export interface TrainedCall {
  /** As the model named it. */
  readonly tool: string;
  /** `unmapped`: it could not be converted, and is passed on as the model wrote it. */
  readonly outcome: "mapped" | "unmapped";
  readonly profile: string;
  /** What was changed or left out. */
  readonly notes: readonly string[];
}
