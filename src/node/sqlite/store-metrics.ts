/** Metrics of the store's file. The thread counts its contents every few seconds. */
import type { Settings } from "../../config/settings.ts";
import type { Registry } from "../../telemetry/metrics.ts";
import type { StoreCounts, TenantCounts } from "./protocol.ts";

/** Registers the metrics, again after each reload of settings. @param counts undefined: there are no counts yet. */
export function registerStoreMetrics(
  registry: Registry,
  { keys }: Settings,
  counts: () => StoreCounts | undefined,
): void {
  const gauge = (name: string, help: string, read: (of: StoreCounts) => number) =>
    registry.readings(name, help, "gauge", () => {
      const now = counts();
      return now === undefined ? [] : [[{}, read(now)]];
    });
  const indexes = new Map(keys.map(({ name }, index) => [name, index]));
  // Tenants are numbered as in the metrics of queues: a tenant's name may be personal data, and tenants not configured share the
  // last index.
  const gaugeOfTenants = (name: string, help: string, read: (of: TenantCounts) => number) =>
    registry.readings(name, help, "gauge", () => {
      const sums = new Map<number, number>();
      for (const each of counts()?.tenants ?? []) {
        const index = indexes.get(each.tenant) ?? keys.length;
        sums.set(index, (sums.get(index) ?? 0) + read(each));
      }
      return [...sums].map(([index, sum]) => [{ tenant: String(index) }, sum] as const);
    });

  gaugeOfTenants(
    "harmony_gateway_store_entries",
    "Entries of a tenant in the store's file.",
    ({ entries }) => entries,
  );
  gaugeOfTenants(
    "harmony_gateway_store_bytes",
    "Bytes of a tenant's entries in the store's file, keys and values.",
    ({ bytes }) => bytes,
  );
  gauge(
    "harmony_gateway_store_expired_entries",
    "Entries in the store's file that have expired and are not removed yet.",
    ({ expired }) => expired,
  );
  gauge(
    "harmony_gateway_store_file_bytes",
    "Size of the store's file and its log.",
    ({ fileBytes }) => fileBytes,
  );
}
