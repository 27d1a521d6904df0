/** Hand-written PDFs of a few lines. */

/** A PDF with a page for each text. `extra`: members of the trailer. */
export function pdfOf(pages: readonly string[], extra = ""): Buffer {
  const streams = pages.map((text) =>
    text === "" ? "" : `BT /F1 12 Tf 72 700 Td (${text.replaceAll(/[()\\]/g, "\\$&")}) Tj ET`,
  );
  return pdfWith(
    streams.map((stream) => ({ dictionary: "", data: Buffer.from(stream) })),
    extra,
  );
}

export interface PdfStream {
  /** Members of the stream's dictionary, such as a filter. */
  readonly dictionary: string;
  readonly data: Buffer;
}

/** A PDF with a page for each stream of operators. */
export function pdfWith(streams: readonly PdfStream[], extra = ""): Buffer {
  const first = 4;
  const kids = streams.map((_, index) => `${first + 2 * index} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Count ${streams.length} /Kids [${kids}] >>`),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
  ];
  for (const [index, { dictionary, data }] of streams.entries()) {
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${first + 2 * index + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      ),
      toStream({ dictionary, data }),
    );
  }
  return pdfOfObjects(objects, extra);
}

const ZEROS = "00".repeat(32);

/** A PDF that needs a password, which no password satisfies. */
export function encryptedPdf(): Buffer {
  const encrypt = `/Encrypt << /Filter /Standard /V 1 /R 2 /O <${ZEROS}> /U <${ZEROS}> /P -4 >>`;
  return pdfOf(["Secret"], `${encrypt} /ID [<00> <00>]`);
}

/** A page with two codes of a font. `sections`: sections of the CMap with their characters. */
export function pdfWithCmap(sections: string): Buffer {
  const cmap = [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 1 def",
    "1 begincodespacerange <00000000> <FFFFFFFF> endcodespacerange",
    sections,
    "endcmap end end",
  ].join("\n");
  const text = Buffer.from("BT /F1 12 Tf 72 700 Td <00010002> Tj ET");
  return pdfOfObjects([
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from("<< /Type /Pages /Count 1 /Kids [3 0 R] >>"),
    Buffer.from(
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    ),
    toStream({ dictionary: "", data: text }),
    Buffer.from(
      "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 7 0 R /DescendantFonts [6 0 R] >>",
    ),
    Buffer.from(
      "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    ),
    toStream({ dictionary: "/Type /CMap /CMapName /X", data: Buffer.from(cmap) }),
  ]);
}

const RANGE = "<00000000> <00FFFFFE> 0";

/** PDFs of 1.4 KB that make pdf.js extend one array until V8 aborts the process, whatever limits a thread has. */
export const ABORTING_PDFS = {
  "overlapping ranges": pdfWithCmap(`2 begincidrange <00FFFFF0> <01FFFFE0> 0 ${RANGE} endcidrange`),
  "ranges after a character": pdfWithCmap(
    `1 begincidchar <01FFFFFF> 5 endcidchar 2 begincidrange ${RANGE} <01000000> <01FFFFFE> 0 endcidrange`,
  ),
};

/** A PDF that takes pdf.js minutes, in little memory. */
export function endlessPdf(): Buffer {
  return pdfWithCmap(`1 begincidrange ${"<00000000> <000FFFFF> 0 ".repeat(50_000)}endcidrange`);
}

function toStream({ dictionary, data }: PdfStream): Buffer {
  return Buffer.concat([
    Buffer.from(`<< /Length ${data.length} ${dictionary} >>\nstream\n`),
    data,
    Buffer.from("\nendstream"),
  ]);
}

/** The first object is the catalog. */
function pdfOfObjects(objects: readonly Buffer[], extra = ""): Buffer {
  const chunks: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const offsets: number[] = [];
  let length = chunks[0]?.length ?? 0;
  const add = (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
  };
  for (const [index, object] of objects.entries()) {
    offsets.push(length);
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]));
  }
  const start = length;
  const lines = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  add(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${lines.join("")}` +
        `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${extra} >>\nstartxref\n${start}\n%%EOF`,
    ),
  );
  return Buffer.concat(chunks);
}
