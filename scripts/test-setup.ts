/** Runs before the tests: they mean nothing on another Node than the one the project pins. */
import packageJson from "../package.json" with { type: "json" };

export default function setup(): void {
  const pinned = packageJson.devDependencies.node;
  if (process.version !== `v${pinned}`) {
    throw new Error(
      `Tests run on Node ${pinned}, this is ${process.version}. Run "pnpm rebuild node", then the tests again.`,
    );
  }
}
