/** The JSON Schema of a turn's record, made from the schema that the gateway itself uses. */
import * as z from "zod";
import { turnRecordSchema } from "../src/telemetry/record/schema.ts";

export function toRecordSchema(): string {
  const schema = z.toJSONSchema(turnRecordSchema());
  const titled = { title: "The record of a turn, as harmony-gateway keeps it", ...schema };
  return `${JSON.stringify(titled, undefined, 2)}\n`;
}
