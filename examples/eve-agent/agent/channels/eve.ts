/**
 * The agent's HTTP API, and who its callers are. Memory is kept under the identity that is decided here, so a real app
 * puts its own authentication in place of `demoCaller`: a verified session or token, never what a caller says.
 */
import { type AuthFn, none } from "eve/channels/auth";
import { eveChannel } from "eve/channels/eve";

export default eveChannel({ auth: demoCaller });

const anonymous = none<Request>();
const loopback: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/**
 * FOR TRYING OUT ONLY: believes `x-user` and `x-company`, so that one person can be several callers with curl. Outside
 * of `eve dev`, and when addressed by another name than this machine's own, nobody is let in.
 */
function demoCaller(request: Request): ReturnType<AuthFn> {
  if (process.env.EVE_DEV !== "1" || !loopback.includes(new URL(request.url).hostname)) return null;
  const user = request.headers.get("x-user");
  if (user === null) return anonymous(request);
  const company = request.headers.get("x-company");
  return {
    principalType: "user",
    authenticator: "demo",
    principalId: user,
    attributes: company === null ? {} : { company },
  };
}
