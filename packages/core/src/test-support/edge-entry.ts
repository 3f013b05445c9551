/** All that the package exports, by the names others import it by. */
export * from "@keepsake/core";
export * from "@keepsake/core/keys";
export * from "@keepsake/core/scope";
export * from "@keepsake/core/secrets";
