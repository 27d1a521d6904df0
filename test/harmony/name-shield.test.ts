import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNameShield, type ShieldedFunction } from "../../src/harmony/name-shield.ts";
import { createParser } from "../../src/harmony/index.ts";
import { type NamespaceStyle, qualifiedName, toolRecipient } from "../../src/harmony/tool-names.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

/** `browser.search` of a namespace is written `browser/search`. */
function toTool(written: string, isText = false): ShieldedFunction {
  const [namespace, name] = written.includes("/") ? written.split("/") : [undefined, written];
  return {
    name: name ?? "",
    description: "",
    ...(namespace !== undefined && { namespace: { name: namespace } }),
    ...(isText && { text: { formats: [] } }),
  };
}

function shownNames(tools: readonly ShieldedFunction[]): string[] {
  const shield = createNameShield(tools);
  return tools.map((tool) => {
    const { namespace, name } = shield.shown(tool);
    return namespace === undefined ? name : `${namespace.name}/${name}`;
  });
}

describe("the name that the model is shown", () => {
  test.each<{ why: string; sent: string[]; shown: string[] }>([
    { why: "of each tool it knows", sent: ["python"], shown: ["run_python"] },
    { why: "browser", sent: ["browser"], shown: ["web_browser"] },
    { why: "bash", sent: ["bash"], shown: ["run_bash"] },
    { why: "shell", sent: ["shell"], shown: ["run_shell"] },
    { why: "container", sent: ["container"], shown: ["run_container"] },
    { why: "repo_browser", sent: ["repo_browser"], shown: ["browse_repository"] },
    { why: "apply_patch", sent: ["apply_patch"], shown: ["edit_with_patch"] },
    { why: "exec", sent: ["exec"], shown: ["run_command"] },
    { why: "case does not matter", sent: ["Bash", "PYTHON"], shown: ["run_bash", "run_python"] },
    {
      why: "a name that only contains one of them stays",
      sent: ["python_exec", "run_bash2", "my_shell", "exec_command", "shells", "mcp__python"],
      shown: ["python_exec", "run_bash2", "my_shell", "exec_command", "shells", "mcp__python"],
    },
    {
      why: "a namespace and a dot: what follows the dot stays",
      sent: ["browser.search", "container.exec", "repo_browser.open_file", "Python.run"],
      shown: [
        "web_browser.search",
        "run_container.exec",
        "browse_repository.open_file",
        "run_python.run",
      ],
    },
    {
      why: "what is no namespace to the model stays with a dot",
      sent: ["bash.run", "exec.it", "shell.x", "apply_patch.y"],
      shown: ["bash.run", "exec.it", "shell.x", "apply_patch.y"],
    },
    {
      why: "a namespace of its own",
      sent: ["browser/search", "browser/open", "files/python", "bash/run"],
      shown: ["web_browser/search", "web_browser/open", "files/python", "bash/run"],
    },
    {
      why: "the new name is taken",
      sent: ["run_python", "python", "run_bash", "run_bash_2", "bash"],
      shown: ["run_python", "run_python_2", "run_bash", "run_bash_2", "run_bash_3"],
    },
    {
      why: "the new name is that of a namespace",
      sent: ["web_browser/open", "browser"],
      shown: ["web_browser/open", "web_browser_2"],
    },
    {
      why: "two spellings of one name",
      sent: ["python", "Python"],
      shown: ["run_python_2", "run_python"],
    },
  ])("$why", ({ sent, shown }) => {
    expect(shownNames(sent.map((name) => toTool(name)))).toEqual(shown);
  });

  test("a patch in the raw form that the model was trained with keeps its name, as JSON it does not", () => {
    expect(shownNames([toTool("apply_patch", true)])).toEqual(["apply_patch"]);
    expect(shownNames([toTool("Apply_Patch", true), toTool("python", true)])).toEqual([
      "Apply_Patch",
      "run_python",
    ]);
  });

  test("does not depend on the order of the request", () => {
    const names = ["python", "Python", "PYTHON", "run_python", "bash"];
    const tools = names.map((name) => toTool(name));
    const forwards = shownNames(tools);
    expect(shownNames(tools.toReversed()).toReversed()).toEqual(forwards);
  });
});

describe("a recipient in the history", () => {
  const shield = createNameShield([toTool("python"), toTool("browser/search"), toTool("f")]);
  test.each([
    ["functions.python", "functions.run_python"],
    ["functions.f", "functions.f"],
    ["browser.search", "web_browser.search"],
    // Not offered now: named as it was when it was.
    ["functions.bash", "functions.run_bash"],
    // Passed on as the model called it, without being offered.
    ["functions.container.exec", "functions.container.exec"],
    ["functions.other", "functions.other"],
    // Tools of training are not functions.
    ["python", "python"],
    ["container.exec", "container.exec"],
  ])("%s is written %s", (sent, shown) => {
    expect(shield.recipient(sent)).toBe(shown);
  });

  test("is that of no other function", () => {
    const own = createNameShield([toTool("run_python"), toTool("Python")]);
    expect(own.recipient("functions.python")).toBe("functions.run_python_3");
    expect(own.recipient("functions.python")).toBe("functions.run_python_3");
    expect(own.recipient("functions.Python")).toBe("functions.run_python_2");
    expect(own.recipient("functions.run_python")).toBe("functions.run_python");
  });

  test("of a raw patch stays", () => {
    expect(shield.recipient("functions.apply_patch", "raw")).toBe("functions.apply_patch");
    expect(shield.recipient("functions.apply_patch")).toBe("functions.edit_with_patch");
  });
});

const names = fc.uniqueArray(
  fc.oneof(
    fc.constantFrom(
      "python",
      "Python",
      "browser",
      "bash",
      "shell",
      "exec",
      "run_python",
      "run_bash_2",
    ),
    fc.constantFrom(
      "apply_patch",
      "container.exec",
      "browser.search",
      "web_browser",
      "repo_browser",
    ),
    fc.constantFrom("browser/open", "repo_browser/print_tree", "mcp__x/python", "web_browser/find"),
    fc.constantFrom("get_weather", "f", "search_docs"),
  ),
  { minLength: 1, maxLength: 12, selector: (written) => written.replace("/", ".") },
);

function calledName(written: string, tools: readonly ShieldedFunction[], style: NamespaceStyle) {
  const shield = createNameShield(tools, style);
  const toName = ({ namespace, name }: ShieldedFunction) => qualifiedName(namespace?.name, name);
  const renamed = new Map(
    tools.flatMap((tool) => {
      const shown = toName(shield.shown(tool));
      return shown === toName(tool) ? [] : [[shown, toName(tool)] as const];
    }),
  );
  const parser = createParser(o200kHarmony(), {
    toolNames: tools.map(toName),
    shownNames: renamed,
  });
  const events = [
    ...parser.pushText(` to=${written}<|channel|>commentary json<|message|>{}<|call|>`),
    ...parser.end("stop"),
  ];
  return events.flatMap((event) =>
    event.type === "part-start" && event.part === "tool-call" ? [event.name] : [],
  );
}

test.each(["own", "flat"] as const)(
  "%s: what is shown is unique, and a call to it is one to the client's function, as is one to the client's name",
  (style) => {
    fc.assert(
      fc.property(names, (sent) => {
        const tools = sent.map((written) => toTool(written));
        const shield = createNameShield(tools, style);
        const recipients = tools.map(({ namespace, name }) =>
          toolRecipient(namespace?.name, name, style),
        );
        const shown = tools.map((tool) => {
          const { namespace, name } = shield.shown(tool);
          return toolRecipient(namespace?.name, name, style);
        });
        expect(recipients.map((each) => shield.recipient(each))).toEqual(shown);
        expect(new Set(shown).size).toBe(tools.length);
        for (const [index, { namespace, name }] of tools.entries()) {
          const own = qualifiedName(namespace?.name, name);
          expect(calledName(shown[index] ?? "", tools, style)).toEqual([own]);
          expect(calledName(recipients[index] ?? "", tools, style)).toEqual([own]);
        }
      }),
      { seed: 46, numRuns: 150 },
    );
  },
);
