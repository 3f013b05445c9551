/** Requests as a failure may show them: which endpoint was asked, not about whom or what. */

/** Such as `GET /v1/users/:id?limit`. */
export function summarize(method: string, target: string): string {
  const [path = "", query] = target.split("?", 2);
  const segments = path.split("/").map(shown).join("/");
  if (!query) return `${method} ${segments}`;
  const names = query.split("&").map((pair) => shown(pair.split("=", 1)[0] ?? ""));
  return `${method} ${segments}?${names.join("&")}`;
}

/** Endpoints are made of short words and versions. Everything else may be somebody's name, key or memory. */
function shown(part: string): string {
  const isWord = /^[a-z][a-z_-]{0,23}$/i.test(part);
  const isVersion = /^v\d{1,2}(\.\d{1,2})?((alpha|beta)\d?)?$/.test(part);
  return part === "" || isWord || isVersion ? part : ":id";
}
