import { connect } from "node:net";
import * as tls from "node:tls";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/node/index.ts";
import { HAS_OPENSSL, makeCertificate } from "../../helpers/certificate.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { listenAnywhere } from "../../helpers/listen.ts";
import { type ScriptedRedis, startScriptedRedis } from "../../helpers/scripted-redis.ts";

async function open(store: string) {
  const opened = await openStore(testSettings({ store, storeTimeoutMs: 20_000 }));
  onTestFinished(() => opened.close());
  return opened.store;
}

describe.skipIf(!HAS_OPENSSL)("Redis over TLS (skipped where openssl is not installed)", () => {
  const trusted = tls.getCACertificates();
  let redis: ScriptedRedis;
  let server: tls.Server;
  let certificate: string;
  let port: number;

  beforeAll(async () => {
    const { key, cert } = makeCertificate("DNS:localhost");
    certificate = cert;
    redis = await startScriptedRedis();
    server = tls.createServer({ key, cert }, (socket) => {
      const plain = connect(Number(new URL(redis.url).port), "127.0.0.1");
      socket.on("error", () => plain.destroy());
      socket.pipe(plain).pipe(socket);
    });
    server.on("tlsClientError", () => {});
    port = await listenAnywhere(server);
  });
  afterAll(async () => {
    tls.setDefaultCACertificates(trusted);
    server.close();
    await redis.close();
  });

  test("a server whose certificate is not trusted is refused", async () => {
    const store = await open(`rediss://localhost:${port}`);
    // Node adds advice to the reason, another in each version.
    await expect(store.get("a")).rejects.toThrow(
      /^Cannot reach Redis at rediss:\/\/localhost:\d+ \(self-signed certificate.*\)\. Check that it is running and that the setting store is right\.$/,
    );
    expect(redis.commands).toEqual([]);
  });

  test("a server whose certificate is trusted is used", async () => {
    tls.setDefaultCACertificates([...trusted, certificate]);
    const store = await open(`rediss://:secret@localhost:${port}`);
    await store.set("a", "x", 60, "alice");
    expect(await store.get("a")).toBe("x");
    expect(redis.commands[0]).toEqual(["AUTH", "secret"]);
  });

  test("a certificate of another name is refused", async () => {
    tls.setDefaultCACertificates([...trusted, certificate]);
    const store = await open(`rediss://127.0.0.1:${port}`);
    await expect(store.get("a")).rejects.toThrow(
      `Cannot reach Redis at rediss://127.0.0.1:${port} (Hostname/IP does not match certificate's altnames: ` +
        "IP: 127.0.0.1 is not in the cert's list: ). " +
        "Check that it is running and that the setting store is right.",
    );
  });
});
