/** PDFs of a few lines, written by hand. */

/** A page for each text. `extra`: members of the trailer. */
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
  /** Members of its dictionary, such as a filter. */
  readonly dictionary: string;
  readonly data: Buffer;
}

/** A page for each stream of operators. */
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
      Buffer.concat([
        Buffer.from(`<< /Length ${data.length} ${dictionary} >>\nstream\n`),
        data,
        Buffer.from("\nendstream"),
      ]),
    );
  }
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

const ZEROS = "00".repeat(32);

/** Needs a password: what it says of one fits none. */
export function encryptedPdf(): Buffer {
  const encrypt = `/Encrypt << /Filter /Standard /V 1 /R 2 /O <${ZEROS}> /U <${ZEROS}> /P -4 >>`;
  return pdfOf(["Secret"], `${encrypt} /ID [<00> <00>]`);
}
