/** The namespace of a slot that names none: one per deployment, agent and slot, as eve derives it. */
import { MemoryError, type MemoryNamespaceContext } from "@keepsake/core";
import { textDigest } from "@keepsake/core/keys";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * On Vercel, the project and environment (a preview also its branch or deployment); elsewhere a digest of the
 * application's root, so that the path itself is nowhere.
 * @throws MemoryError `not_configured` where neither is known.
 */
export function defaultNamespace(context: MemoryNamespaceContext, environment: Environment): string {
  const { appRoot, node, slot } = context;
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const project = value("VERCEL_PROJECT_ID");
  if (project !== undefined) {
    const target = value("VERCEL_TARGET_ENV") ?? value("VERCEL_ENV") ?? "production";
    const preview =
      target === "preview"
        ? (value("VERCEL_GIT_COMMIT_REF") ?? value("VERCEL_DEPLOYMENT_ID") ?? value("VERCEL_URL") ?? "unknown-preview")
        : null;
    return JSON.stringify(["eve-memory-default-namespace-v1", "vercel", project, target, preview, node, slot]);
  }
  if (appRoot === "") {
    throw new MemoryError(
      "not_configured",
      `Memory slot "${slot}" needs a namespace, or the host an appRoot to make one from.`,
      { slot },
    );
  }
  return JSON.stringify(["eve-memory-default-namespace-v1", "local", textDigest(appRoot), node, slot]);
}
