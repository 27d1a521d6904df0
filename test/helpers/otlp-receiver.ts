/** A collector that takes traces over OTLP/HTTP, as JSON. */
import * as z from "zod";
import { startFakeUpstream } from "./fake-upstream.ts";

const value = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
  doubleValue: z.number().optional(),
  arrayValue: z.object({ values: z.array(z.looseObject({ stringValue: z.string() })) }).optional(),
});

const attribute = z.object({ key: z.string(), value });

const span = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.union([z.string(), z.number()]),
  attributes: z.array(attribute),
  status: z.looseObject({ code: z.number() }),
});

const exported = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(span) })),
    }),
  ),
});

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** Time in nanoseconds. */
  readonly startedAt: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: an error. */
  readonly status: number;
}

export interface OtlpReceiver {
  /** `http://127.0.0.1:4318` */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The received bodies. */
  readonly bodies: readonly string[];
  /** `service.name` of the last body. */
  readonly service: unknown;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  let service: unknown;
  const upstream = await startFakeUpstream((exchange) => {
    if (exchange.path !== "/v1/traces") return exchange.reply(404, "{}");
    bodies.push(exchange.body);
    for (const { resource, scopeSpans } of exported.parse(JSON.parse(exchange.body))
      .resourceSpans) {
      service = toAttributes(resource.attributes)["service.name"];
      for (const each of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({
          traceId: each.traceId,
          spanId: each.spanId,
          parentSpanId: each.parentSpanId,
          name: each.name,
          kind: each.kind,
          startedAt: BigInt(each.startTimeUnixNano),
          attributes: toAttributes(each.attributes),
          status: each.status.code,
        });
      }
    }
    exchange.reply(200, "{}");
  });
  return {
    url: upstream.url,
    spans,
    bodies,
    get service() {
      return service;
    },
    close: () => upstream.close(),
  };
}

function toAttributes(list: readonly z.infer<typeof attribute>[]): Record<string, unknown> {
  return Object.fromEntries(
    list.map(({ key, value: { stringValue, intValue, doubleValue, arrayValue } }) => [
      key,
      stringValue ??
        (intValue === undefined ? undefined : Number(intValue)) ??
        doubleValue ??
        arrayValue?.values.map((each) => each.stringValue),
    ]),
  );
}
