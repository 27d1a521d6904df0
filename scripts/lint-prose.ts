/**
 * Checks comments and test names for phrases that only their author reads at once: a sentence needs a named subject and a
 * standard verb. Run by `npm run lint`; prints each finding with the rule, and fails if there is one.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

interface Rule {
  readonly pattern: RegExp;
  readonly advice: string;
}

const RULES: readonly Rule[] = [
  {
    pattern: /(?:^|[.:;] )(?:Who|Whoever)\b[^?]*$/,
    advice: "name the subject: the caller, the client, the operator",
  },
  {
    pattern:
      /(?:^|[.:;] )What [a-z]+ (?:is|are|was|has|have|does|asks?|came|went|needs?|comes|goes)\b/,
    advice: "name the subject instead of a clause with what",
  },
  {
    pattern:
      /\b(?:is|are|was|were|be|been) (?:told|asked|looked) (?:of|for|at|by|which|whether|how|to|about|again)\b|\b(?:is|are|was|were|not) told\b/,
    advice: "say which function calls, reads or receives what",
  },
  {
    pattern: /\b(?:besides|dearer|in vain|as it were|of its own accord)\b/i,
    advice: "write in addition to, slower, without effect, or leave it out",
  },
  { pattern: /\b(?:short|long) ways?\b/i, advice: "write fast path, slow path, or how" },
  { pattern: /(?:^|[.:;] )None (?:is|are|was|were)\b/, advice: "name the value and its effect" },
];

const FOLDERS = ["src", "web", "test", "proof", "scripts", "examples"];
const COMMENT = /^\s*(?:\/\*\*?|\*|\/\/)\s?(.*?)(?:\*\/)?$|\s\/\/ (.*)$/;
const TEST_NAME = /^\s*(?:test|describe|it)(?:\.\w+)*\(\s*"([^"]+)"/;

const findings = listSources().flatMap((path) => check(path, readFileSync(path, "utf8")));
for (const finding of findings) console.error(finding);
if (findings.length > 0) {
  console.error(`${findings.length} phrases to rewrite.`);
  process.exitCode = 1;
}

function listSources(): string[] {
  const options = { encoding: "utf8", maxBuffer: 16_777_216 } as const;
  const listed = execFileSync("git", ["ls-files", ...FOLDERS], options).split("\n");
  return listed.filter(
    (path) =>
      path.endsWith(".ts") && !path.includes("/fixtures/") && path !== "scripts/lint-prose.ts",
  );
}

function check(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const match = COMMENT.exec(line) ?? TEST_NAME.exec(line);
    const prose = match?.[1] ?? match?.[2];
    if (prose === undefined) return [];
    return RULES.filter(({ pattern }) => pattern.test(prose)).map(
      ({ advice }) => `${path}:${index + 1}: ${prose.trim()}\n  ${advice}`,
    );
  });
}
