/** One way to recognise a secret. `find` reports every match, in any order; it must be linear in the text's length. */
export interface SecretRule {
  readonly id: string;
  readonly kind: string;
  readonly find: (text: string) => Iterable<{ readonly start: number; readonly end: number }>;
}
