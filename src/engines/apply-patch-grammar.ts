/**
 * The patch format of Codex's `apply_patch` in GBNF. Codex declares it in the notation of Lark, which few engines support.
 */

/** Returns the grammar in GBNF if the definition is that of `apply_patch`. */
export function toApplyPatchGrammar(definition: string): string | undefined {
  const lines = definition.split("\n").map((line) => line.replaceAll(/\s+/g, ""));
  const rules = new Set(lines.filter((line) => line !== "" && !isVariable(line)));
  const isKnown = rules.size === KNOWN.length && KNOWN.every((rule) => rules.has(rule));
  if (!isKnown || !lines.some((line) => START.test(line))) return undefined;
  return lines.some((line) => isEnvironment(line)) ? toGrammar("environment? ") : toGrammar("");
}

/** First rule of the grammar. With several environments, Codex adds a line that names one of them. */
const START = /^start:begin_patch(?:environment\w*\??)?hunk\+end_patch$/;

function isVariable(line: string): boolean {
  return START.test(line) || isEnvironment(line);
}

function isEnvironment(line: string): boolean {
  return line.includes('"***EnvironmentID:"');
}

/** The rules without their white space. */
const KNOWN = [
  'begin_patch:"***BeginPatch"LF',
  'end_patch:"***EndPatch"LF?',
  "hunk:add_hunk|delete_hunk|update_hunk",
  'add_hunk:"***AddFile:"filenameLFadd_line+',
  'delete_hunk:"***DeleteFile:"filenameLF',
  'update_hunk:"***UpdateFile:"filenameLFchange_move?change?',
  "filename:/(.+)/",
  'add_line:"+"/(.*)/LF->line',
  'change_move:"***Moveto:"filenameLF',
  "change:(change_context|change_line)+eof_line?",
  'change_context:("@@"|"@@"/(.+)/)LF',
  'change_line:("+"|"-"|"")/(.*)/LF',
  'eof_line:"***EndofFile"LF',
  "%importcommon.LF",
];

function toGrammar(environment: string): string {
  return `root ::= "*** Begin Patch\\n" ${environment}hunk+ "*** End Patch" "\\n"?
environment ::= "*** Environment ID: " filled
hunk ::= add | delete | update
add ::= "*** Add File: " filled ("+" line)+
delete ::= "*** Delete File: " filled
update ::= "*** Update File: " filled ("*** Move to: " filled)? change?
change ::= (context | [-+ ] line)+ ("*** End of File\\n")?
context ::= "@@" (" " filled | "\\n")
line ::= [^\\n]* "\\n"
filled ::= [^\\n]+ "\\n"
`;
}
