/** Trained tools that are shown in place of the client's tools, and their calls. */

/** A client's tool that is equivalent to a trained one. */
export interface ToolMapping {
  /** Identifies the client's tool, like `OfferedTool.name`. */
  readonly name: string;
  /** The table of the conversion and its version, for records. */
  readonly profile: string;
  /** The client's calls have a text instead of JSON arguments. */
  readonly isText: boolean;
  /** The tool only reads. */
  readonly isRead: boolean;
  /** Converts the body that the model wrote to the client's call. */
  toClient(body: string): MappedCall;
}

export type MappedCall =
  /** `notes`: changes and omissions. */
  | { readonly body: string; readonly notes: readonly string[] }
  /** The reason why the call cannot be converted, for the model. */
  | { readonly problem: string };

export interface TrainedCall {
  /** The model's name of the tool. */
  readonly tool: string;
  /** `unmapped`: the call could not be converted, and is passed on unchanged. */
  readonly outcome: "mapped" | "unmapped";
  readonly profile: string;
  /** Changes and omissions of the conversion. */
  readonly notes: readonly string[];
}
