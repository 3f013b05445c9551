/** The reference provider on a real Redis, behind the proxy that breaks the connection. */
import { defineSubject, tcpBackend } from "../index.ts";
import { referenceProvider } from "../reference/provider.ts";
import { redisRecordStore, redisServer } from "./redis.ts";

export default defineSubject({
  name: "reference on Redis",
  time: "injected",
  backend: tcpBackend({
    async server() {
      const server = await redisServer();
      if (server === null) throw new Error("There is no redis-server on this machine.");
      return server;
    },
  }),
  create: ({ backend, clock, onEvent, ttlMs }) =>
    referenceProvider({ store: redisRecordStore(backend), clock, onEvent, ttl: ttlMs }),
});
