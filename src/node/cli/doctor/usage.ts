/** `harmony-gateway doctor --help`. Apart from the command, which is loaded only when it runs. */

export const DOCTOR_USAGE = `\
harmony-gateway doctor [settings] [options]

Asks an engine what the gateway relies on, and says what to change: it samples some thousand tokens. The settings are
those of serving: --engine, --url, --model, --config; with several backends each is examined.

  --quick             leave out what takes long: speed, and turns of the corpus
  --checks <list>     only these, by their names: reachable,temperature
  --turns <number>    turns of the corpus to run; default: 8
  --streams <list>    streams at a time of the speed check; default: 1,8,64
  --budget <seconds>  for all checks of an engine; default: 300
  --json              print the report as JSON
  --markdown          print it as a section of a page

The exit code is 0 if all is ok, 1 if something is degraded, 2 if something is broken or the arguments are wrong.`;
