/** Access to the page's files, which each runtime reads in its own way. */
export interface Asset {
  readonly text: string;
  readonly type: string;
}

export interface Assets {
  /** The HTML of the page. */
  page(): Promise<string>;
  /** A script or a style sheet by its name. Undefined: there is none. */
  file(name: string): Promise<Asset | undefined>;
  /** Every script by its name, the entry first, for a page that opens without a server. */
  scripts(): Promise<ReadonlyMap<string, string>>;
}
