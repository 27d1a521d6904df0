/** `/v1/conversations`: create, read, update and delete conversations and their items. */
import { type Context, Hono } from "hono";
import * as z from "zod";
import type { ApiEnv } from "../request/client.ts";
import { refusal, RequestError } from "../errors.ts";
import { readRequest } from "../request/parse-request.ts";
import { createStages } from "../request/stages.ts";
import type { ResponsesContext } from "./context.ts";
import { refuseManyItems, type StoredConversation } from "./conversations.ts";
import { inputItem, toWireItem, type WireItem } from "./items.ts";
import { unknownConversation } from "./load-context.ts";
import { metadataSchema } from "./request.ts";
import { showItem, toList, toPage } from "./to-client.ts";

export const newConversation = z.lazy(() =>
  z.object({
    items: z.array(inputItem).nullish(),
    metadata: metadataSchema().nullish(),
  }),
);

export const changedConversation = z.lazy(() =>
  z.object({ metadata: metadataSchema().nullable() }),
);

export const newItems = z.lazy(() =>
  z.object({ items: z.array(inputItem).min(1, "must contain at least one item") }),
);

type Asked = Context<ApiEnv, "/conversations/:id">;

export function conversationRoutes(context: ResponsesContext): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  addConversations(app, context);
  addItems(app, context);
  return app;
}

function addConversations(app: Hono<ApiEnv>, context: ResponsesContext): void {
  app.post("/conversations", async (c) => {
    const text = await c.req.text();
    const stages = createStages(text.length, context.pause);
    const { items, metadata } = await readRequest(
      text === "" ? "{}" : text,
      newConversation,
      itemLimits(context),
      stages,
    );
    const conversation: StoredConversation = {
      id: `conv_${context.randomId()}`,
      createdAt: Math.floor(context.now() / 1000),
      metadata: metadata ?? {},
      items: toNewItems(items ?? [], context),
      ...(c.get("client").isPrivate && { isPrivate: true }),
    };
    await context.conversations.put(c.get("client").tenant, conversation);
    return c.json(toConversation(conversation));
  });

  app.get("/conversations/:id", async (c) => c.json(toConversation(await find(c, context))));

  app.post("/conversations/:id", async (c) => {
    const text = await c.req.text();
    const stages = createStages(text.length, context.pause);
    const { metadata } = await readRequest(text, changedConversation, context.limits, stages);
    const changed = await change(c, context, (found) => ({ ...found, metadata: metadata ?? {} }));
    return c.json(toConversation(changed));
  });

  app.delete("/conversations/:id", async (c) => {
    const { id } = await find(c, context);
    await context.conversations.delete(c.get("client").tenant, id);
    return c.json({ id, object: "conversation.deleted", deleted: true });
  });
}

function addItems(app: Hono<ApiEnv>, context: ResponsesContext): void {
  app.get("/conversations/:id/items", async (c) => {
    const { items } = await find(c, context);
    return c.json(toPage(items, c.req.query(), c.get("client")));
  });

  app.post("/conversations/:id/items", async (c) => {
    const text = await c.req.text();
    const stages = createStages(text.length, context.pause);
    const { items } = await readRequest(text, newItems, itemLimits(context), stages);
    const added = toNewItems(items, context);
    const isPrivate = c.get("client").isPrivate;
    await change(c, context, (found) => {
      refuseManyItems(found.items.length + added.length, context.limits);
      const all = [...found.items, ...added];
      return { ...found, items: all, isPrivate: isPrivate || found.isPrivate };
    });
    const shown = added.map((item) => showItem(item, c.get("client")));
    return c.json(toList(shown, false));
  });

  app.get("/conversations/:id/items/:item", async (c) => {
    const { items } = await find(c, context);
    const item = items.find((each) => each["id"] === c.req.param("item"));
    if (item === undefined) throw unknownItem(c.req.param("item"));
    return c.json(showItem(item, c.get("client")));
  });

  app.delete("/conversations/:id/items/:item", async (c) => {
    const id = c.req.param("item");
    const changed = await change(c, context, (found) => {
      if (!found.items.some((item) => item["id"] === id)) throw unknownItem(id);
      return { ...found, items: found.items.filter((item) => item["id"] !== id) };
    });
    return c.json(toConversation(changed));
  });
}

/** Limits of a request whose message list is a conversation's items. */
function itemLimits({ limits }: ResponsesContext): ResponsesContext["limits"] {
  return { ...limits, messageLists: ["items"] };
}

async function find(
  c: Asked,
  { conversations, readStored }: ResponsesContext,
): Promise<StoredConversation> {
  const { tenant } = c.get("client");
  const id = c.req.param("id");
  const found = await readStored(tenant, c.req.raw, () => conversations.get(tenant, id));
  if (found === undefined) throw unknownConversation(c.req.param("id"));
  return found;
}

async function change(
  c: Asked,
  { conversations, readStored }: ResponsesContext,
  to: (conversation: StoredConversation) => StoredConversation,
): Promise<StoredConversation> {
  const id = c.req.param("id");
  const { tenant } = c.get("client");
  const changed = await readStored(tenant, c.req.raw, () => conversations.update(tenant, id, to));
  if (changed === undefined) throw unknownConversation(id);
  return changed;
}

/** Gives each item an id. */
function toNewItems(
  items: readonly z.infer<typeof inputItem>[],
  context: ResponsesContext,
): WireItem[] {
  return items.map((item) => {
    if (item.type === "item_reference") {
      throw refusal(
        "items",
        "a conversation cannot contain references to items. Send the items themselves",
      );
    }
    const wire = toWireItem(item);
    return wire["id"] ? wire : { ...wire, id: `item_${context.randomId()}` };
  });
}

function toConversation({ id, createdAt, metadata }: StoredConversation) {
  return { id, object: "conversation" as const, created_at: createdAt, metadata };
}

function unknownItem(id: string): RequestError {
  return new RequestError(`There is no item with the id ${JSON.stringify(id)}.`, {
    status: 404,
    errorType: "item_not_found",
  });
}
