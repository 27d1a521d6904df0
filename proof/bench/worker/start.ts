/** The time until a Worker answers, compared with one that does nothing and one that only encodes with js-tiktoken. */
import { setTimeout as pause } from "node:timers/promises";
import { type Bundle, startWorkerd } from "../../../test/helpers/workerd.ts";
import { type Measured, toMeasured } from "../statistics.ts";
import { cpuMs, isolateMb, residentMb } from "./process.ts";

export interface Contenders<T> {
  readonly nothing: T;
  readonly jsTiktoken: T;
  readonly gateway: T;
}

interface Start {
  /** CPU until it listens: reading the bundle and evaluating its modules. */
  readonly readyCpu: number;
  /** CPU and time of the first request, a list of models: reads the settings and creates the application. */
  readonly firstCpu: number;
  readonly firstMs: number;
  /** CPU and time of the second request, the model's first answer: includes the vocabulary's tables. */
  readonly chatCpu: number;
  readonly chatMs: number;
  /** CPU and time of both requests, the cost of a new isolate whose first request is a chat. */
  readonly coldCpu: number;
  readonly coldMs: number;
  /** CPU and time of the second answer. */
  readonly againCpu: number;
  readonly againMs: number;
  readonly isolateMb: number;
  readonly rssMb: number;
}

const ROWS: Readonly<Record<keyof Start, string>> = {
  readyCpu: "start-up, ms of CPU",
  firstCpu: "first request (list of models), ms of CPU",
  firstMs: "first request (list of models), ms",
  chatCpu: "first answer, after that request, ms of CPU",
  chatMs: "first answer, after that request, ms",
  coldCpu: "both together, ms of CPU",
  coldMs: "both together, ms",
  againCpu: "second answer, ms of CPU",
  againMs: "second answer, ms",
  isolateMb: "isolate after it, MB",
  rssMb: "resident after it, MB",
};

/** A table in Markdown. */
export async function measureStarts(bundles: Contenders<Bundle>, rounds: number): Promise<string> {
  const starts: Contenders<Start>[] = [];
  for (let round = 0; round < rounds; round++) {
    starts.push({
      nothing: await measureStart(bundles.nothing),
      jsTiktoken: await measureStart(bundles.jsTiktoken),
      gateway: await measureStart(bundles.gateway),
    });
  }
  const rows = Object.entries(ROWS).map(([name, title]) => {
    const key = Object.keys(ROWS).find((each): each is keyof Start => each === name) ?? "readyCpu";
    const cells = [
      starts.map(({ nothing }) => nothing[key]),
      starts.map(({ jsTiktoken }) => jsTiktoken[key]),
      starts.map(({ gateway }) => gateway[key]),
      starts.map(({ gateway, nothing }) => gateway[key] - nothing[key]),
    ];
    return `| ${title} | ${cells.map((each) => toCell(toMeasured(each))).join(" | ")} |`;
  });
  return [
    `| | empty Worker | js-tiktoken | gateway | gateway − empty |`,
    "| --- | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}

async function measureStart(bundle: Bundle): Promise<Start> {
  const worker = await startWorkerd(bundle, { log: "silent" });
  const { pid, origin } = worker;
  const measure = async (ask: () => Promise<Response>) => {
    const cpuBefore = cpuMs(pid);
    const started = performance.now();
    await (await ask()).text();
    const ms = performance.now() - started;
    await settle();
    return { cpu: cpuMs(pid) - cpuBefore, ms };
  };
  const chat = () =>
    fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
  try {
    await settle();
    const readyCpu = cpuMs(pid);
    const first = await measure(() => fetch(`${origin}/v1/models`));
    const answer = await measure(chat);
    const again = await measure(chat);
    return {
      readyCpu,
      firstCpu: first.cpu,
      firstMs: first.ms,
      chatCpu: answer.cpu,
      chatMs: answer.ms,
      coldCpu: first.cpu + answer.cpu,
      coldMs: first.ms + answer.ms,
      againCpu: again.cpu,
      againMs: again.ms,
      isolateMb: await isolateMb(worker.inspector),
      rssMb: residentMb(pid).now,
    };
  } finally {
    await worker.close();
  }
}

/** Work after a response is included. */
function settle(): Promise<void> {
  return pause(100);
}

function toCell({ median, min, max }: Measured): string {
  return `${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
}
