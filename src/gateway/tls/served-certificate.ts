/** What the hub shows in a handshake. */
export interface ServedCertificate {
  /** PEM, the server's own first, then those between it and the root. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
  /** PEM of the hub's own authority; absent for a certificate that the owner brought. */
  readonly authority?: string;
  /** DNS names and addresses that it is about. */
  readonly names: readonly string[];
  /** Why it was made now; absent when it was there already. */
  readonly madeBecause?: string;
}

/** Port: where the certificate comes from. */
export interface CertificateSource {
  /** As it should be served at this time, milliseconds since 1970. CONFIG_INVALID or STORAGE_FAILED when there is none. */
  current(nowMs: number): ServedCertificate;
}
