/** Starts a process that stays open, prints its id, and waits to be killed. */
import { siblingModule, startProcess } from "../process/rpc.ts";

const child = await startProcess({ module: siblingModule("served-process", import.meta.url) });
await child.call("stayOpen");
if (process.argv[2] === "disconnect") child.disconnect();
console.log(child.pid);
setInterval(() => {}, 1_000);
