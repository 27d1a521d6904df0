/** Pages that run in browsers, and access to their files, which each runtime reads by its own functions. */

export interface PageDescription {
  /** Name of the page, a part of the URL of its files. */
  readonly name: string;
  readonly title: string;
  /** The module that runs the page, without extension: `web/chat/app`. */
  readonly entry: string;
  /** A module with few imports that runs before all others, to request the first data. */
  readonly early?: string;
  /** Style sheets, joined in this order after the common style of all pages: later rules override earlier ones. */
  readonly styles: readonly string[];
  /** HTML that is shown until the script replaces it. */
  readonly frame: string;
}

/** A file with its compressed copies. */
export interface Asset {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  /** Copies by encoding, as named in `accept-encoding`, the smallest first. */
  readonly encoded: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface ServedPages {
  /** The HTML of a page, with the URLs of its files in their version. The facts become attributes of its body, `data-NAME`. */
  html(page: PageDescription, facts?: Readonly<Record<string, string>>): Promise<string>;
  /**
   * A file of a page. The version is the page's name with a hash of all its files, which never change under it. Undefined: the
   * file does not exist in this version.
   *
   * Absent: the platform serves the files before the gateway gets the request.
   */
  readonly file?: (version: string, path: string) => Promise<Asset | undefined>;
}

export interface PageAssets extends ServedPages {
  readonly file: (version: string, path: string) => Promise<Asset | undefined>;
  /** The style sheet, and every script by its path, the entry first, for a page that works without a server. */
  sources(page: PageDescription): Promise<PageSources>;
}

export interface PageSources {
  readonly style: string;
  readonly scripts: ReadonlyMap<string, string>;
}
