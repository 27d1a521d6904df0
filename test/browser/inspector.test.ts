import { hash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/index.ts";
import { readRecord } from "../../src/node/replay/read-record.ts";
import { sleep } from "../../src/streams/timers.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { STEP_TOOL } from "../helpers/tool-loop.ts";
import { eventually } from "../helpers/eventually.ts";
import { openPane } from "./chat-page.ts";
import { type Browser, launchBrowser, MISSING } from "./driver.ts";
import { checkAxe, type OpenOptions, openPage } from "./open.ts";
import { takeScreenshots } from "./screenshots.ts";
import {
  pacedEngine,
  post,
  RECOVERED,
  startInspected,
  STEERED,
  TOKEN,
  TOOL_LOOP,
} from "./turns.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

const open = (url: string, viewport?: OpenOptions["viewport"], before?: string) =>
  openPage(browser, url, { ...(viewport && { viewport }), ...(before && { before }) });

async function openInspected(engine: Engine, viewport?: { width: number; height: number }) {
  const gateway = await startInspected(engine);
  onTestFinished(() => gateway.close());
  const show = (before?: string) =>
    open(`${gateway.origin}/inspect#token=${TOKEN}`, viewport, before);
  return { gateway, show };
}

const FINAL = "<|channel|>final<|message|>Hello!<|return|>";
const HELLO = { messages: [{ role: "user", content: "Good evening" }] };

describe.skipIf(MISSING !== undefined)(
  `the inspector in a browser (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test("from the empty page over the chat to a turn and its tokens, with nothing from elsewhere", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      const { page, problems, requested } = await show();
      await page.getByText("No turns yet").waitFor();
      expect(page.url()).not.toContain(TOKEN);
      await page.getByText("Open the chat").click();
      await page.getByText("A question").click();
      await page.getByText("inspect", { exact: true }).click();
      for (const band of ["Request", "Prompt", "Model output", "Response"]) {
        await page.getByRole("heading", { name: band }).waitFor();
      }
      await page.getByText("answered").first().waitFor();
      await expect
        .poll(async () => page.locator(".card.user .text").innerText())
        .toBe("Why is the sky blue, but a sunset red?");
      await expect.poll(async () => page.locator(".part .text").innerText()).toBe("Hello!");
      await page.keyboard.press("t");
      await page.locator(".call .cell").first().waitFor();
      await expect
        .poll(async () => page.locator(".call .cell").allInnerTexts())
        .toEqual(["channel", "final", "message", "Hello", "!", "return"]);
      await expect
        .poll(async () => page.locator(".call .cell").nth(3).getAttribute("title"))
        .toMatch(/^id 13225 · /);
      await page.reload();
      await page.getByText("answered").first().waitFor();
      expect(requested.every((url) => url.startsWith(gateway.origin))).toBe(true);
      expect(problems).toEqual([]);
    });

    test("what is painted first waits for the style sheet only, and is replaced by the page", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      const html = await (await fetch(`${gateway.origin}/inspect`)).text();
      const script = /src="([^"]+)app\.[jt]s"/.exec(html)?.[1];
      const alone = await browser.newPage({ javaScriptEnabled: false });
      onTestFinished(() => alone.close());
      await alone.goto(`${gateway.origin}/inspect`);
      await alone.getByText("Loading …").waitFor();
      await post(gateway, HELLO);
      const { page, requested } = await show();
      await page.getByRole("heading", { name: "Model output" }).waitFor();
      expect(await page.getByText("Loading …").count()).toBe(0);
      await expect.poll(async () => page.locator("header.top").count()).toBe(1);
      // The page requested the list while its modules were loading, and not again.
      const asked = requested.map((url) => url.slice(gateway.origin.length));
      expect(asked.filter((path) => path.startsWith("/inspect/api/turns/"))).toEqual([
        "/inspect/api/turns/newest",
      ]);
      expect(asked.filter((path) => path === `/${script}app.ts`)).toHaveLength(1);
    });

    test("without the token nothing is shown but a field for it", async () => {
      const { gateway } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO);
      const { page } = await open(`${gateway.origin}/inspect`);
      const enter = async (token: string, problem: string) => {
        await page.getByLabel("Token").fill(token);
        await page.getByRole("button", { name: "Open" }).click();
        await page.getByRole("alert").getByText(problem).waitFor();
      };
      await enter("a wrong one", "The token is missing or wrong.");
      await enter("“quoted”", "The token has a character that cannot be sent");
      await page.reload();
      await page.getByRole("alert").getByText("The token has a character").waitFor();
      await page.getByLabel("Token").fill(TOKEN);
      expect(await page.getByText("Good evening").count()).toBe(0);
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByText("Good evening").first().waitFor();
    });

    test("a turn appears while the page is open, and fills as it is written", async () => {
      const words = "word ".repeat(40);
      const seen = Promise.withResolvers<void>();
      let tokens = 0;
      const engine = pacedEngine([`<|channel|>final<|message|>${words}<|return|>`], () =>
        ++tokens < 10 ? sleep(20) : seen.promise,
      );
      const { gateway, show } = await openInspected(engine);
      const { page } = await show();
      await page.getByText("No turns yet").waitFor();
      const answered = post(gateway, { ...HELLO, stream: true });
      await page.getByText("Good evening").first().click();
      await page.getByText("running").first().waitFor();
      seen.resolve();
      await page.getByText("answered").first().waitFor();
      await eventually(async () => {
        expect((await page.locator(".part .text").innerText()).trim()).toBe(words.trim());
      });
      await answered;
    });

    test("a steered turn says what was forced, rejected and not sent", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(STEERED.scripts));
      await post(gateway, STEERED.body);
      const { page } = await show();
      await page.getByRole("heading", { name: "Model output" }).waitFor();
      await expect
        .poll(async () => page.locator(".call .card-head strong").allInnerTexts())
        .toEqual([
          "opened a reasoning message; a call is forced after it",
          "opened a call",
          "rejected the arguments and asked for others",
        ]);
      await page
        .getByText("Rejected: #/guests: must be integer, not string", { exact: true })
        .waitFor();
      await expect.poll(async () => page.locator(".by-gateway").count()).toBe(3);
      // The list shows whole words in one line with the time, and the number of further ones.
      expect(await page.locator(".row .mark").allInnerTexts()).toEqual(["forced", "+2"]);
      expect(await page.locator(".row .mark").last().getAttribute("title")).toBe(
        "schema enforced: The answer or a call's arguments had to match a schema.\ncalled book_table",
      );
      expect(
        await page.evaluate(
          "Array.from(document.querySelectorAll('.row-top, .row-top *')).filter((each) => each.scrollWidth > each.clientWidth && each.clientWidth > 0).length",
        ),
      ).toBe(0);
      await expect
        .poll(async () => page.locator(".part.unsent .text").allInnerTexts())
        .toEqual(['{"restaurant":"Maaemo","guests":"four"}']);
    });

    test("a recovery is shown where it was made, with the original text and the result", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(RECOVERED.scripts));
      await post(gateway, RECOVERED.body);
      const { page } = await show();
      const pin = page.locator(".pin").first();
      await pin.waitFor();
      await expect.poll(async () => pin.innerText()).toContain("implicit-close");
      await page.locator(".pin summary").first().click();
      await expect.poll(async () => pin.innerText()).toContain("<|channel|>analysis<|message|>");
    });

    test("reasoning that was left out says why; the rest of the loop was kept", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(TOOL_LOOP.scripts));
      await post(gateway, TOOL_LOOP.body);
      const { page } = await show();
      await page.getByText("left out: finished by message 5").waitFor();
      await expect.poll(async () => page.locator(".card.dropped").count()).toBe(1);
      // The request shows it, too, at its place; in words, not only by a line through it.
      await expect
        .poll(async () => page.locator(".json del").allInnerTexts())
        .toEqual(['"That is 42, as everybody knows."']);
      await expect
        .poll(async () => page.locator(".json .why").allInnerTexts())
        .toEqual(["left out: the answer in message 5 finished its turn"]);
      await expect
        .poll(async () => page.locator("article.card.analysis .text").allInnerTexts())
        .toEqual(["The first step comes first.", "Now the second one."]);
    });

    test("pointing at a part highlights its tokens", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(RECOVERED.scripts));
      await post(gateway, RECOVERED.body);
      const { page } = await show();
      await page.locator(".part").first().hover();
      await page.locator(".run.lit").first().waitFor();
      await expect
        .poll(async () => page.locator(".run.lit").allInnerTexts())
        .toEqual(["analysis", expect.stringContaining("greeting in Norwegian")]);
    });

    test("the keys move between turns, filter, change the view and show help", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      for (const content of ["first", "second", "third"]) {
        await post(gateway, { messages: [{ role: "user", content }] });
      }
      const { page } = await show();
      const selected = page.locator(".row.selected .row-words");
      await eventually(async () => expect(await selected.innerText()).toBe("third"));
      await page.keyboard.press("j");
      await eventually(async () => expect(await selected.innerText()).toBe("second"));
      await page.keyboard.press("k");
      await eventually(async () => expect(await selected.innerText()).toBe("third"));
      await page.keyboard.press("/");
      await page.keyboard.type("first");
      await eventually(async () => expect(await page.locator(".row").count()).toBe(1));
      await page.keyboard.press("Escape");
      await page.getByLabel("by conversation").check();
      await page.keyboard.press("?");
      await page.locator("dialog:modal").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    });

    test("a filter is fields and words, stands in the address, and Back undoes it", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO);
      await post(gateway, { ...HELLO, model: "gpt-4o" });
      const { page, problems } = await show();
      await expect.poll(async () => page.locator(".row").count()).toBe(2);
      await page.getByText("1 rejected: ").waitFor();
      await page.getByLabel("Filter turns").fill("status:rejected");
      await expect.poll(async () => page.locator(".row").allInnerTexts()).toHaveLength(1);
      expect(page.url()).toContain("?status=rejected");
      await page.getByText("rejected · 400").first().waitFor();
      await page.locator(".row").click();
      await expect.poll(() => page.url()).toMatch(/status=rejected&turn=req_/);
      await page.goBack();
      await expect.poll(() => page.url()).not.toContain("turn=");
      const link = `${gateway.origin}/inspect?key=nobody#token=${TOKEN}`;
      await page.goto("about:blank");
      await page.goto(link);
      await page.getByText("No turn matches.").waitFor();
      expect(page.url()).not.toContain(TOKEN);
      expect(problems).toEqual([]);
    });

    test("a link to a turn that is not kept shows no other in its place", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO, { "x-request-id": "kept" });
      const { page, problems } = await show();
      await page.locator(".row.selected").waitFor();
      await page.goto(`${gateway.origin}/inspect?turn=gone`);
      await page.getByText("The turn gone is not kept.").waitFor();
      await page.getByText("Select a turn.").waitFor();
      expect(await page.locator(".row.selected").count()).toBe(0);
      await page.locator(".row").click();
      await page.getByRole("heading", { name: "Model output" }).waitFor();
      expect(await page.getByText("is not kept").count()).toBe(0);
      await page.goBack();
      await page.getByText("The turn gone is not kept.").waitFor();
      expect(await page.locator(".turn").count()).toBe(0);
      expect(problems).toEqual([]);
    });

    test("the address follows the keys and the links between turns", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO, { "x-request-id": "first" });
      await post(gateway, { ...HELLO, model: "gpt-4o" }, { "x-request-id": "rejected" });
      await post(gateway, HELLO, { "x-request-id": "fork", "x-harmony-fork-of": "first" });
      const { page, problems } = await show();
      await page.locator(".row.selected").waitFor();
      const named = () => new URL(page.url()).searchParams.get("turn");
      await page.keyboard.press("j");
      await expect.poll(named).toBe("rejected");
      await page.keyboard.press("k");
      await expect.poll(named).toBe("fork");
      await page.locator(".relatives button").first().click();
      await expect.poll(named).toBe("first");
      await page.getByRole("button", { name: /^Fork by / }).click();
      await expect.poll(named).toBe("fork");
      await page.locator(".problems summary").click();
      await page.locator(".problems li button").first().click();
      await expect.poll(named).toBe("rejected");
      // The turn has no prompt that could be run again.
      await page.locator(".turn-title:has-text('rejected')").waitFor();
      expect(await page.getByRole("button", { name: "Run again" }).count()).toBe(0);
      await page.goBack();
      await page.getByRole("button", { name: "Run again" }).waitFor();
      expect(named()).toBe("fork");
      expect(problems).toEqual([]);
    });

    test("new turns move neither the list that is read nor the focus", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      const ask = (content: string) => post(gateway, { messages: [{ role: "user", content }] });
      for (let turn = 0; turn < 40; turn++) await ask(`turn ${turn}`);
      const { page } = await show();
      await page.locator(".row.selected").waitFor();
      const words = "document.activeElement.querySelector('.row-words')?.textContent";
      await page.locator(".row").nth(3).focus();
      expect(await page.evaluate(words)).toBe("turn 36");
      await ask("new");
      await page.locator(".row:has-text('new')").waitFor();
      expect(await page.evaluate(words)).toBe("turn 36");

      const place = `document.querySelector(".row:focus").getBoundingClientRect().top`;
      await page.evaluate("document.querySelector('.list-box').scrollTop = 990");
      await page.locator(".row:has-text('turn 20')").focus();
      const before = await page.evaluate<number>(place);
      for (let turn = 0; turn < 3; turn++) await ask(`newer ${turn}`);
      await expect.poll(() => page.locator(".list-foot span").innerText()).toBe("44 turns");
      await expect.poll(() => page.evaluate(place)).toBe(before);
      expect(await page.evaluate(words)).toBe("turn 20");
    });

    test("a browser that forbids storage shows the turns all the same", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO);
      const before =
        "Object.defineProperty(globalThis, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError') } })";
      const { page, problems } = await show(before);
      await page.getByRole("heading", { name: "Model output" }).waitFor();
      await page.goto(`${gateway.origin}/inspect`);
      await page.getByLabel("Token").waitFor();
      expect(problems).toEqual([]);
    });

    test("totals, the engine's state and the conversation are shown", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      for (let turn = 0; turn < 2; turn += 1) await post(gateway, HELLO);
      const { page } = await show();
      await page.getByText("2 turns ·", { exact: true }).waitFor();
      await page.getByText("0 running").waitFor();
      await page.getByLabel("by conversation").check();
      await page.getByText("2 turns", { exact: true }).first().waitFor();
      expect(page.url()).toContain("group=conversation");
    });

    test("who does what is a table by key, and a key filters the list", async () => {
      const keys = ["alice", "bob"].map((name) => ({
        name,
        sha256: hash("sha256", `key-of-${name}`),
      }));
      const gateway = await startInspected(
        scriptedEngine(() => FINAL),
        { keys },
      );
      onTestFinished(() => gateway.close());
      for (const name of ["alice", "bob", "bob"]) {
        const headers = { authorization: `Bearer key-of-${name}`, "user-agent": "opencode/1.0" };
        await post(gateway, HELLO, headers);
      }
      const { page, problems } = await open(`${gateway.origin}/inspect#token=${TOKEN}`);
      await page.getByText("most turns by bob 2, alice 1").click();
      const cells = await page.locator(".keys tbody tr").first().innerText();
      expect(cells.split(/\s+/).slice(0, 4)).toEqual(["bob", "opencode", "2", "0"]);
      await checkAxe(page, "keys");
      await page.locator(".keys .mark").last().click();
      await expect.poll(() => page.locator(".row").count()).toBe(1);
      expect(page.url()).toContain("?key=alice");
      expect(problems).toEqual([]);
    });

    test("after a restart the table of keys has the requests of the audit file", async () => {
      const keys = ["alice", "bob"].map((name) => ({
        name,
        sha256: hash("sha256", `key-of-${name}`),
      }));
      const auditFile = join(mkdtempSync(join(tmpdir(), "harmony-gateway-audit-")), "audit.jsonl");
      const start = () =>
        startInspected(
          scriptedEngine(() => FINAL),
          { keys, auditFile },
        );
      const before = await start();
      for (const name of ["alice", "bob", "bob"]) {
        await post(before, HELLO, { authorization: `Bearer key-of-${name}` });
      }
      await before.close();
      const gateway = await start();
      onTestFinished(() => gateway.close());
      await post(gateway, HELLO, { authorization: "Bearer key-of-alice" });
      const { page, problems } = await open(`${gateway.origin}/inspect#token=${TOKEN}`);
      await page.getByText("2 keys: most requests by").click();
      const rows = page.locator(".keys tbody tr");
      await expect
        .poll(async () => (await rows.allInnerTexts()).map((row) => row.split(/\s+/)[2]))
        .toEqual(["2", "2"]);
      await checkAxe(page, "audited keys");
      expect(problems).toEqual([]);
    });

    test("the calls of a turn are listed with their arguments and results", async () => {
      const { gateway, show } = await openInspected(
        scriptedEngine([...TOOL_LOOP.scripts, ...STEERED.scripts]),
      );
      await post(gateway, TOOL_LOOP.body);
      await post(gateway, STEERED.body);
      const { page } = await show();
      await page.getByText("2 in this turn, 0 before it").waitFor();
      await expect
        .poll(() => page.locator(".calls li").allInnerTexts())
        .toEqual([
          expect.stringMatching(/^book_table in this turn rejected, not sent\s/),
          expect.stringMatching(/"guests":4\}\s+The result comes with a later request\.$/),
        ]);
      await page.locator(".row").last().click();
      await page.getByText("0 in this turn, 2 before it").waitFor();
      await page.getByText("2 calls").click();
      await expect
        .poll(() => page.locator(".calls li").allInnerTexts())
        .toEqual([
          expect.stringMatching(
            /^step in the prompt run by the client\s+\{"n":1\}\s+→ first step done$/,
          ),
          expect.stringMatching(/^step in the prompt run by the client\s+\{"n":2\}\s+→ 42$/),
        ]);
    });

    test("two turns can be compared", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      for (const effort of ["medium", "high"]) {
        await post(gateway, { ...HELLO, reasoning_effort: effort });
      }
      const { page } = await show();
      await eventually(async () => expect(await page.locator(".row").count()).toBe(2));
      await page.getByRole("button", { name: "Compare" }).click();
      await page.locator(".compare select").selectOption({ index: 1 });
      await page.getByText("1 messages are the same.").waitFor();
      const cards = await page.locator(".compare .card.system .text").allInnerTexts();
      expect(cards.some((text) => text.includes("Reasoning: high"))).toBe(true);
      expect(cards.some((text) => text.includes("Reasoning: medium"))).toBe(true);
    });

    test("a request opens in the chat with its tools and settings, and is not sent again", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(STEERED.scripts));
      await post(gateway, { ...STEERED.body, temperature: 0.25 });
      const { page, requested, problems } = await show();
      await page.getByText("Open in chat").click();
      await page.getByText("Opened from a link. Nothing has been sent yet.").waitFor();
      expect(await page.locator("#message").inputValue()).toBe(
        "Book a table for four at Maaemo, please.",
      );
      await openPane(page, "Settings");
      expect(await page.getByLabel("Functions, as JSON").inputValue()).toContain("book_table");
      expect(await page.getByLabel("Tool choice").inputValue()).toBe("required");
      expect(await page.getByLabel("Temperature").inputValue()).toBe("0.25");
      expect(requested.some((url) => url.includes("/chat/completions"))).toBe(false);
      expect(problems).toEqual([]);
    });

    test("a turn runs again five times, and the page says whether its output is stable", async () => {
      const other = FINAL.replace("Hello", "Good evening");
      const engine = scriptedEngine((_, call) => (call === 3 ? other : FINAL));
      const { gateway, show } = await openInspected(engine);
      await post(gateway, HELLO);
      const { page, problems } = await show();
      await page.getByRole("button", { name: "× 5" }).click();
      await page.getByText("The same output.").nth(3).waitFor();
      await page.getByText(/^The output differs from token 4/).waitFor();
      expect(engine.prompts.every((prompt) => prompt === engine.prompts[0])).toBe(true);
      await page.getByRole("button", { name: "Run again" }).waitFor();
      await page.locator(".relatives li:has-text('differs')").getByText("Compare").click();
      await page.getByText("2 messages are the same.").waitFor();
      await page.getByText(/^The output differs from token 4/).waitFor();
      await page.getByRole("button", { name: "Turn", exact: true }).click();
      await page
        .getByRole("button", { name: /^Run, / })
        .first()
        .click();
      await page.getByText("Made from").waitFor();
      await checkAxe(page, "a run");
      expect(problems).toEqual([]);
    });

    test("a client cannot pass its request off as a run", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO, { "x-request-id": "sky" });
      await post(gateway, HELLO, { "x-request-id": "run_1", "x-harmony-fork-of": "sky" });
      const { page } = await show();
      await page.locator(".row").last().click();
      await page.getByRole("button", { name: /^Fork by / }).waitFor();
      expect(await page.getByRole("button", { name: /^Run, / }).count()).toBe(0);
    });

    test("runs can be stopped", async () => {
      const engine = scriptedEngine((_, call) => (call === 0 ? FINAL : { write: "", hang: true }));
      const { gateway, show } = await openInspected(engine);
      await post(gateway, HELLO);
      const { page, problems } = await show();
      await page.getByRole("button", { name: "× 5" }).click();
      await expect.poll(() => engine.open).toBe(1);
      await page.getByRole("button", { name: "Stop (run 1 of 5)" }).click();
      await expect.poll(() => engine.open).toBe(0);
      await page.getByRole("button", { name: "× 5" }).waitFor();
      // The focus moves there, since its button has gone.
      await page.locator("main:focus").waitFor();
      await expect.poll(() => page.locator(".row").count()).toBe(2);
      expect(engine.requests).toHaveLength(2);
      expect(problems).toEqual([]);
    });

    test("what the chat sends of an opened turn is linked with it, both ways, once", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO);
      const { page, problems } = await show();
      await page.getByText("Open in chat").click();
      await page.getByText("Opened from a link. Nothing has been sent yet.").waitFor();
      for (const [index, question] of ["Good evening, again", "And once more"].entries()) {
        await page.locator("#message").fill(question);
        await page.getByRole("button", { name: "Send", exact: true }).click();
        // The earlier answers are on the page already.
        await page.locator(".answer.done").nth(index).waitFor();
        await page.getByRole("button", { name: "Send", exact: true }).waitFor();
      }
      await page.goto(`${gateway.origin}/inspect`);
      await expect.poll(() => page.locator(".row").count()).toBe(3);
      await page.locator(".row").last().click();
      await page.getByRole("button", { name: /^Fork by / }).click();
      await page.getByText("Made from").waitFor();
      await page.getByText("Another prompt. The same output.").waitFor();
      expect(await page.locator(".relatives li").count()).toBe(1);
      expect(problems).toEqual([]);
    });

    test("a saved turn opens from a file, without the gateway", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(STEERED.scripts));
      await post(gateway, STEERED.body);
      const { page } = await show();
      const download = page.waitForEvent("download");
      await page.getByText("Export").click();
      await page.getByRole("button", { name: "Save as a page" }).click();
      const file = join(mkdtempSync(join(tmpdir(), "shared-")), "turn.html");
      await (await download).saveAs(file);
      await gateway.close();
      const shared = await open(pathToFileURL(file).href);
      await shared.page.getByRole("heading", { name: "Model output" }).waitFor();
      await shared.page.keyboard.press("t");
      await shared.page.locator(".call .cell").first().waitFor();
      await expect.poll(async () => shared.page.locator(".call .cell").count()).toBeGreaterThan(20);
      expect(shared.requested.filter((url) => /^https?:/.test(url))).toEqual([]);
      expect(shared.problems).toEqual([]);
    });

    test("a turn is saved into the capture folder where there is one", async () => {
      const folder = mkdtempSync(join(tmpdir(), "capture-"));
      const gateway = await startInspected(
        scriptedEngine(() => FINAL),
        { capture: folder },
      );
      onTestFinished(() => gateway.close());
      await post(gateway, HELLO);
      const { page } = await open(`${gateway.origin}/inspect#token=${TOKEN}`);
      await page.getByText("Export").click();
      await page.getByRole("button", { name: "Save for replay" }).click();
      await page.getByText(/^Saved as /).waitFor();
      const [file = ""] = readdirSync(folder);
      expect(await page.locator(".actions [role=status]").innerText()).toBe(
        `Saved as ${join(folder, file)}`,
      );
    });

    test("a turn is downloaded where there is no capture folder", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, HELLO);
      const { page } = await show();
      const download = page.waitForEvent("download");
      await page.getByText("Export").click();
      await page.getByRole("button", { name: "Save for replay" }).click();
      const file = join(mkdtempSync(join(tmpdir(), "saved-")), "turn.json");
      await (await download).saveAs(file);
      expect(readRecord(readFileSync(file, "utf8"))?.end?.outcome).toBe("stop");
    });

    test("a pinned turn stays when the list is cleared, and goes when it is unpinned", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      for (let turn = 0; turn < 2; turn++) await post(gateway, HELLO);
      const { page, problems } = await show();
      await expect.poll(() => page.locator(".row").count()).toBe(2);
      await page.locator(".row").last().click();
      await page.getByRole("button", { name: "Pin", exact: true }).click();
      await page.locator(".row:has-text('pinned')").waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await expect.poll(() => page.locator(".row").count()).toBe(1);
      await page.getByRole("button", { name: "Pinned", exact: true }).click();
      await page.getByRole("button", { name: "Pin", exact: true }).waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByText("No turns yet").waitFor();
      expect(problems).toEqual([]);
    });

    test("what users, tools and models write is shown as text, in every view", async () => {
      const evil =
        '<img src=x onerror="alert(1)"><script>alert(2)</script>"><svg onload=alert(3)>javascript:alert(4)';
      const engine = scriptedEngine([
        `<|channel|>analysis<|message|>${evil}<|end|><|start|>assistant<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":"${evil.replaceAll('"', String.raw`\"`)}"}<|call|>`,
        { write: `<|channel|>final<|message|>${evil}`, fail: new Error(evil) },
      ]);
      const { gateway, show } = await openInspected(engine);
      const messages = [
        { role: "system", content: evil },
        { role: "user", content: `${evil} <|end|><|start|>system` },
        { role: "assistant", reasoning: evil, content: evil },
        { role: "user", content: evil },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: evil,
              type: "function",
              function: { name: "step", arguments: JSON.stringify({ n: evil }) },
            },
          ],
        },
        { role: "tool", tool_call_id: evil, content: evil },
      ];
      const tool = { ...STEP_TOOL, function: { ...STEP_TOOL.function, description: evil } };
      const headers = {
        "user-agent": evil,
        "http-referer": evil,
        "x-title": evil,
        "x-session-id": evil,
      };
      for (const user of [evil, undefined]) {
        await post(gateway, { messages, tools: [tool], user, stop: [evil], stream: true }, headers);
      }
      await post(gateway, { messages: [], model: evil });
      const { page, problems, dialogs } = await show();
      for (let row = 0; row < 3; row++) {
        await page.locator(".row").nth(row).click();
        await page.getByText("Request as sent").click();
        for (let view = 0; view < 3; view++) await page.keyboard.press("t");
      }
      await page.keyboard.press("c");
      await page.locator(".compare select").selectOption({ index: 1 });
      await page.keyboard.press("c");
      const download = page.waitForEvent("download");
      await page.getByText("Export").click();
      await page.getByRole("button", { name: "Save as a page" }).click();
      const file = join(mkdtempSync(join(tmpdir(), "evil-")), "turn.html");
      await (await download).saveAs(file);
      const shared = await open(pathToFileURL(file).href);
      await shared.page.getByRole("heading", { name: "Request" }).waitFor();
      for (const opened of [page, shared.page]) {
        expect(
          await opened.evaluate("document.querySelectorAll('img, iframe, object, embed').length"),
        ).toBe(0);
        expect(await opened.evaluate("document.querySelectorAll('#app script').length")).toBe(0);
      }
      expect(dialogs() + shared.dialogs()).toBe(0);
      expect(problems).toEqual([]);
    });

    test("control tokens are chips; the same characters typed are text", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      await post(gateway, { messages: [{ role: "user", content: "typed <|end|> here" }] });
      const { page } = await show();
      await page.locator(".card.user").waitFor();
      await expect
        .poll(async () => page.locator(".card.user .text").innerText())
        .toBe("typed <|end|> here");
      expect(await page.locator(".card.user .chip").count()).toBe(0);
      await page.keyboard.press("t");
      await page.keyboard.press("t");
      await page.locator(".band:has(#band-saw) .chip").first().waitFor();
      await expect
        .poll(async () => page.locator(".band:has(#band-saw) .chip").allInnerTexts())
        .toEqual(["start", "message", "end", "start", "message", "end", "start"]);
    });

    test("text that turns its direction moves no control token", async () => {
      const turned = FINAL.replace("Hello!", "\u202eabc\u2067def");
      const { gateway, show } = await openInspected(scriptedEngine(() => turned));
      await post(gateway, HELLO, { "user-agent": "\u00ff\u00fe/1", "x-session-id": "\u00ad" });
      const { page } = await show();
      await page.locator(".call .run").first().waitFor();
      const lefts = await page.evaluate<number[]>(
        "Array.from(document.querySelectorAll('.call .chip, .call .run'), (each) => each.getBoundingClientRect().left)",
      );
      expect(lefts.length).toBeGreaterThan(4);
      expect(lefts).toEqual(lefts.toSorted((a, b) => a - b));
    });

    test("a thousand turns and a hundred thousand tokens keep the document small", async () => {
      const long = `<|channel|>final<|message|>${"token ".repeat(100_000)}<|return|>`;
      const engine = scriptedEngine((_, index) => (index === 0 ? long : FINAL), { batch: 100 });
      const { gateway, show } = await openInspected(engine);
      await post(gateway, { ...HELLO, max_tokens: 200_000 });
      for (let group = 0; group < 33; group++) {
        await Promise.all(Array.from({ length: 30 }, () => post(gateway, HELLO)));
      }
      const { page } = await show();
      await page.locator(".row").first().waitFor();
      await expect.poll(async () => page.locator(".list-foot span").innerText()).toBe("991 turns");
      expect(await page.locator(".row").count()).toBeLessThan(60);
      await page.evaluate("document.querySelector('.list-box').scrollTop = 1e6");
      // The button is clicked once: each click requests the turn anew, and this request is slow.
      await page.locator('.row:has-text("100,0")').click();
      await page.locator('.turn-title:has-text("100,0")').waitFor();
      await page.keyboard.press("t");
      await page.locator("lazy-block").first().waitFor({ state: "attached" });
      await page.evaluate("document.querySelector('.call').scrollIntoView()");
      await page.locator(".call .cell").first().waitFor();
      await expect.poll(async () => page.locator("lazy-block").count()).toBeGreaterThan(100);
      expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(12_000);
    });

    test("a long message is shown by and by, and is too long for a link", async () => {
      const { gateway, show } = await openInspected(scriptedEngine(() => FINAL));
      const content = "Good evening, ".repeat(150_000);
      await post(gateway, { messages: [{ role: "user", content }] });
      const { page, problems } = await show();
      const length = "document.querySelector('.card.user .text').textContent.length";
      await page.getByRole("button", { name: "Show 200,000 of 2,094,000 more characters" }).click();
      await page
        .getByRole("button", { name: "Show 200,000 of 1,894,000 more characters" })
        .waitFor();
      expect(await page.evaluate(length)).toBeLessThan(206_100);
      await page.getByText("Too long to open in the chat").waitFor();
      expect(await page.getByText("Open in chat").count()).toBe(0);
      expect(problems).toEqual([]);
    });

    test("axe reports no violations, in light and in dark colours", async () => {
      const engine = scriptedEngine([
        ...STEERED.scripts,
        ...RECOVERED.scripts,
        ...TOOL_LOOP.scripts,
      ]);
      const { gateway, show } = await openInspected(engine);
      const { page } = await show();
      await page.getByText("No turns yet").waitFor();
      await checkAxe(page, "empty");
      for (const { body } of [STEERED, RECOVERED, TOOL_LOOP]) await post(gateway, body);
      await eventually(async () => expect(await page.locator(".row").count()).toBe(3));
      for (let row = 0; row < 3; row++) {
        await page.locator(".row").nth(row).click();
        await page.getByRole("heading", { name: "Model output" }).waitFor();
        await page.evaluate(
          "for (const each of document.querySelectorAll('details')) each.open = true",
        );
        await checkAxe(page, `turn ${row}`);
        await page.keyboard.press("t");
        await checkAxe(page, `turn ${row} as tokens`);
        await page.keyboard.press("t");
        await page.keyboard.press("t");
      }
      await page.getByRole("button", { name: "Compare" }).click();
      await page.locator(".compare select").selectOption({ index: 1 });
      await page.getByText("messages are the same").waitFor();
      await checkAxe(page, "compare");
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await checkAxe(page, "help");
      await page.keyboard.press("Escape");
      await page.setViewportSize({ width: 390, height: 800 });
      await checkAxe(page, "phone");
    });

    test("without turns a phone shows how to make some, and then the list", async () => {
      const { gateway, show } = await openInspected(
        scriptedEngine(() => FINAL),
        {
          width: 390,
          height: 800,
        },
      );
      const { page } = await show();
      await page.getByText("No turns yet").waitFor();
      expect(await page.getByRole("button", { name: "Turns" }).count()).toBe(0);
      await post(gateway, HELLO);
      await page.locator(".row").waitFor();
      await page.getByRole("button", { name: "Turns" }).click();
      await page.getByText("Select a turn.").waitFor();
    });

    test("a phone shows either the list or the turn, and nothing is wider than the screen", async () => {
      const viewport = { width: 390, height: 800 };
      const { gateway, show } = await openInspected(scriptedEngine(STEERED.scripts), viewport);
      await post(gateway, STEERED.body);
      const { page } = await show();
      await page.getByRole("heading", { name: "Model output" }).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
      await page.getByRole("button", { name: "Turns" }).click();
      await page.locator(".row").first().click();
      await page.getByRole("heading", { name: "Response" }).waitFor();
    });
  },
);

test.runIf(MISSING === undefined && process.env["SCREENSHOTS"] !== undefined)(
  "the pictures of the docs are taken (skipped: SCREENSHOTS=1 takes them)",
  async () => {
    await takeScreenshots(browser);
    expect(existsSync(new URL("../../docs/images/inspector.png", import.meta.url))).toBe(true);
  },
);
