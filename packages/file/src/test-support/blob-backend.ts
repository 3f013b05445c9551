/** The stand-in of Vercel Blob as a backend that can be broken. The client reaches both of its hosts at their real names. */
import { type BackendFactory, type Connection, httpBackend } from "@keepsake/conformance";
import { apiOrigin, createBlobStore, readBlobRequest, storeOrigin } from "./blob-store.ts";

type HttpConnection = Extract<Connection, { kind: "http" }>;

export function blobBackend(): BackendFactory<HttpConnection> {
  const api = httpBackend({
    origin: apiOrigin,
    service: () => {
      const store = createBlobStore();
      return {
        contents: () => [...store.objects].map(([pathname, { content }]) => `${pathname}\n${content}`),
        async fetch(request) {
          const asked = await readBlobRequest(request, atItsHost(request));
          return asked === undefined ? new Response("Not found", { status: 404 }) : store.respond(asked);
        },
      };
    },
  });
  return {
    ...api,
    async attach(connection) {
      const undo: (() => Promise<void>)[] = [];
      for (const url of [apiOrigin, storeOrigin]) {
        const detach = await api.attach?.({ ...connection, url });
        if (detach !== undefined) undo.unshift(detach);
      }
      return async () => {
        for (const detach of undo) await detach();
      };
    },
  };
}

/** Both hosts are redirected to one server, which knows them apart by the header. */
function atItsHost({ url, headers }: Request): URL {
  const { pathname, search } = new URL(url);
  return new URL(`${pathname}${search}`, `https://${headers.get("host")}`);
}
