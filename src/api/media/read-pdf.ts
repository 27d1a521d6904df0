/** The interface of the PDF reader, which only some runtimes have. */

export type PdfText =
  | {
      readonly type: "text";
      /** The texts of the first pages. */
      readonly pages: readonly string[];
      /** Number of the document's pages. */
      readonly total: number;
    }
  /** `why` completes a sentence. */
  | { readonly type: "unreadable"; readonly why: string };

/** Reads the texts of a PDF. Rejects with the signal's reason only. */
export type ReadPdf = (bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<PdfText>;

/** Maximum pages of a document that are read; below, maximum characters. */
export const MAX_PAGES = 300;
export const MAX_CHARACTERS = 500_000;
