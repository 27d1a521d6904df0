/** Wraps any unstorage driver as a store, without the key and value conversions of `createStorage`. */
import type { Driver } from "unstorage";
import type { Store } from "./store.ts";

/** `createStorage` would parse values that look like JSON, and cut keys at a question mark. */
export function createDriverStore(driver: Driver): Store {
  return {
    async get(key) {
      const value: unknown = await driver.getItem(key);
      return typeof value === "string" ? value : undefined;
    },
    async set(key, value, ttlSeconds) {
      await driver.setItem?.(key, value, { ttl: ttlSeconds });
      return true;
    },
    async delete(key) {
      await driver.removeItem?.(key, {});
    },
  };
}
