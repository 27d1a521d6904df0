/** `docs/fields.md`: the handling of each field of a chat request, made from the list in the code. */
import { FIELD_GROUPS, TREATMENTS } from "./chat-fields.ts";

export function toFieldsDocument(): string {
  const treatments = Object.entries(TREATMENTS).map(([name, text]) => `- **${name}**: ${text}`);
  const groups = FIELD_GROUPS.map(({ title, fields }) => {
    const rows = fields.map(
      ({ name, treatment, note = "" }) => `| ${toCode(name)} | ${treatment} | ${note} |`,
    );
    return [`## ${title}`, "", "| field | | |", "| --- | --- | --- |", ...rows].join("\n");
  });
  return `# Fields of \`POST /v1/chat/completions\`

Generated from \`scripts/chat-fields.ts\` by \`node scripts/write-docs.ts\`. A test sends every field and
checks its effect.

${treatments.join("\n")}

A field that is not listed is ignored. \`null\` is the same as leaving a field out. A value of the wrong type or out of range
is answered with status 400 for every field that has an effect.

In replies, \`system_fingerprint\` is always \`fp_harmony_gateway\`: it names the gateway, and neither the model nor its settings.

${groups.join("\n\n")}
`;
}

/** The field's name as code, the words after it as text. */
function toCode(name: string): string {
  return name.replace(/^\S+/, (field) => `\`${field}\``);
}
