/** The namespace of a slot that names none: one per deployment, agent and slot, as eve derives it. */
import { MemoryError, type MemoryNamespaceContext } from "@keepsake/core";
import { textDigest } from "@keepsake/core/keys";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * On Vercel, the project and environment (a preview also its branch or deployment); elsewhere a digest of the
 * application's root, so that the path itself is nowhere. While developing, eve runs an agent from a snapshot whose folder
 * changes with every build; then it is the root of the project itself, so that memory survives the build.
 * @throws MemoryError `not_configured` where neither is known.
 */
export function defaultNamespace(context: MemoryNamespaceContext, environment: Environment): string {
  const { appRoot, node, slot } = context;
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const project = value("VERCEL_PROJECT_ID") ?? projectOfToken(value("VERCEL_OIDC_TOKEN"));
  if (project !== undefined) {
    const target = value("VERCEL_TARGET_ENV") ?? value("VERCEL_ENV") ?? "production";
    const preview =
      target === "preview"
        ? (value("VERCEL_GIT_COMMIT_REF") ?? value("VERCEL_DEPLOYMENT_ID") ?? value("VERCEL_URL") ?? "unknown-preview")
        : null;
    const parts = [
      "eve-memory-default-namespace-v1",
      "vercel",
      project,
      target,
      preview,
      ...routePrefix(value),
      node,
      slot,
    ];
    return JSON.stringify(parts);
  }
  if (appRoot === "") {
    throw new MemoryError(
      "not_configured",
      `Memory slot "${slot}" needs a namespace, or the host an appRoot to make one from.`,
      { slot },
    );
  }
  return JSON.stringify(["eve-memory-default-namespace-v1", "local", textDigest(projectRoot(appRoot)), node, slot]);
}

/** The project that a snapshot was taken of. Where it is a part of a repository, a snapshot has the repository's folders. */
function projectRoot(appRoot: string): string {
  const [, project, part = ""] = snapshot.exec(appRoot) ?? [];
  if (project === undefined) return appRoot;
  return project.endsWith(part) ? project : project + part;
}

const snapshot = /^(.*)[\\/]\.eve[\\/]dev-runtime[\\/]snapshots[\\/][^\\/]+[\\/]source((?:[\\/][^\\/]+)*)[\\/]?$/s;

/** The project that Vercel's own token names. It is only read here: whoever sets the environment is trusted with it. */
function projectOfToken(token: string | undefined): string | undefined {
  try {
    const [, payload = ""] = token?.split(".") ?? [];
    const claim: unknown = JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))).project_id;
    return typeof claim === "string" && claim !== "" ? claim : undefined;
  } catch {
    return undefined;
  }
}

/** Members of one workspace that share a project are told apart by their routes. */
function routePrefix(value: (name: string) => string | undefined): string[] {
  if (value("EVE_INTERNAL_AGENT_WORKSPACE_MEMBER") !== "1") return [];
  const prefix = value("EVE_PUBLIC_ROUTE_PREFIX")?.replace(/^\/+|\/+$/g, "") ?? "";
  return prefix === "" ? [] : [`/${prefix}`];
}
