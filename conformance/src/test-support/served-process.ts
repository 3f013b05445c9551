/** A process for the tests of calls between processes. */
import { createServer } from "node:http";
import { serve } from "../process/rpc.ts";

serve((data) => {
  if (data === "broken") throw Object.assign(new TypeError("cannot be made"), { code: "EBROKEN" });
  return {
    data: () => data,
    env: (name: string) => process.env[name],
    echo: (...values: unknown[]) => values,
    fail: () => {
      throw Object.assign(new RangeError("too far"), { code: "limit_exceeded", retryable: true });
    },
    failWith: (value: unknown) => {
      throw value;
    },
    uncloneable: () => () => {},
    never: () => new Promise(() => {}),
    print: (text: string) => {
      console.log(text);
      console.error(text.toUpperCase());
    },
    exit: (code: number) => process.exit(code),
    /** Listening keeps a process alive. */
    stayOpen: () => void createServer().listen(0, "127.0.0.1"),
  };
});
