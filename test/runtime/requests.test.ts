import { afterAll, beforeAll } from "vitest";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { testRequests } from "./requests.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

testRequests((path, sent) => fetch(gateway.origin + path, sent));
