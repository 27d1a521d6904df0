/** The gateway below `/llm` of a Hono application, which cuts the path off itself. In your project: from "harmony-gateway". */
import { Hono } from "hono";
import { createGateway } from "../../src/index.ts";

// With your server: createGateway({ url: "http://127.0.0.1:8000" })
const gateway = createGateway({ engine: "demo" });
const app = new Hono();
app.get("/", (c) => c.text("My application"));
app.mount("/llm", gateway.fetch);

export default app;
