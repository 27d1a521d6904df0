/** A byte pipe in plain node:http: it parses nothing and knows no events. Arguments: the engine's port, its own. */
import { Agent, createServer, request } from "node:http";

const [enginePort, ownPort] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

const server = createServer((incoming, outgoing) => {
  const { method, url, headers } = incoming;
  const call = request(
    { host: "127.0.0.1", port: enginePort, path: url, method, headers, agent },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      outgoing.once("close", () => answer.destroy());
    },
  );
  call.once("error", () => outgoing.destroy());
  incoming.pipe(call);
});
// The pipe's connections wait while another contender answers. Node's own limit of 5 s would close them while a request
// is written.
server.keepAliveTimeout = 60_000;
server.listen(ownPort, "127.0.0.1");
