/** Pages that run in browsers, and access to their files, which each runtime reads with functions of its own. */

export interface PageDescription {
  /** A part of the address of its files. */
  readonly name: string;
  readonly title: string;
  /** The module that runs the page, without extension: `web/chat/app`. */
  readonly entry: string;
  /** A module that imports little and runs before all others, to ask for the first data. */
  readonly early?: string;
  /** Style sheets, joined in this order after the style that all pages share: later rules override earlier ones. */
  readonly styles: readonly string[];
  /** HTML that is shown until the script has replaced it. */
  readonly frame: string;
}

/** A file in each encoding that was made of it. */
export interface Asset {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  /** By the name in `accept-encoding`, the smallest first. */
  readonly encoded: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface ServedPages {
  /** The HTML of a page, which names the files with their version. The facts become attributes of its body, `data-NAME`. */
  html(page: PageDescription, facts?: Readonly<Record<string, string>>): Promise<string>;
  /**
   * A file of a page. The version is the page's name with a hash of all its files: under one, each stays as it is. Undefined: there is no
   * such file, or not in this version.
   *
   * Absent: the platform serves the files before the gateway gets the request.
   */
  readonly file?: (version: string, path: string) => Promise<Asset | undefined>;
}

export interface PageAssets extends ServedPages {
  readonly file: (version: string, path: string) => Promise<Asset | undefined>;
  /** The style sheet, and every script by its path, the entry first, for a page that opens without a server. */
  sources(page: PageDescription): Promise<PageSources>;
}

export interface PageSources {
  readonly style: string;
  readonly scripts: ReadonlyMap<string, string>;
}
