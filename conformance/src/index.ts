export type {
  Backend,
  BackendFactory,
  BackendKind,
  Connection,
  DirectoryFault,
  Exchange,
  Fault,
  HttpFault,
  TcpFault,
} from "./backend.ts";
export { directoryBackend } from "./backends/directory.ts";
export { documentsBackend, type HttpDocumentsOptions, httpDocuments } from "./backends/documents.ts";
export { type HttpService, httpBackend } from "./backends/http.ts";
export { type TcpServer, tcpBackend } from "./backends/tcp.ts";
export { type CertifyOptions, certify } from "./certify.ts";
export type { Clause, Profile } from "./clause.ts";
export { explain, summarize } from "./explain.ts";
export type { Certificate, CheckResult, CheckState, Understanding } from "./result.ts";
export {
  type CreateContext,
  type Deviation,
  defineSubject,
  type ForgetTarget,
  type Subject,
  type SubjectDefinition,
  type SubjectTools,
  type ToolUse,
} from "./subject/define.ts";
