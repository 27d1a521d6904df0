/** Access to the page's files, which each runtime reads in its own way. */
export interface Asset {
  readonly text: string;
  readonly type: string;
}

export interface Assets {
  /** The HTML of the page. It names the files with their version. */
  page(): Promise<string>;
  /**
   * A script or a style sheet by its name. The version is a hash of all files: under one, each stays as it is. Undefined:
   * there is no such file, or not in this version.
   */
  file(version: string, name: string): Promise<Asset | undefined>;
  /** The style sheet, for a page that opens without a server. */
  style(): Promise<string>;
  /** Every script by its name, the entry first, for the same. */
  scripts(): Promise<ReadonlyMap<string, string>>;
}
