/** The gateway below `/llm` of an Express application. Mount it before `express.json()`, which would read its bodies. */
import express from "express";
import { createGateway } from "harmony-gateway";
import { toNodeHandler } from "harmony-gateway/node";

// With your server: createGateway({ url: "http://127.0.0.1:8000" })
const gateway = createGateway({ engine: "demo" });
const app = express();
app.use("/llm", toNodeHandler(gateway));
app.use(express.json());
app.get("/", (_, response) => response.send("My application"));

app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
