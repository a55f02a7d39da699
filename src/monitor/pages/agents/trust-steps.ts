/** How other machines reach the hub, as `GET /api/v1/tls` tells it. */
export interface TlsView {
  readonly enabled: boolean;
  readonly url: string;
  readonly source?: string;
  readonly fingerprint_sha256?: string;
}

/** What another machine has to be told before it believes the hub at `origin`. */
export interface TrustSteps {
  readonly fingerprint: string;
  /** One line for a terminal of that machine. */
  readonly command: string;
}

/** Undefined where the hub is reached in clear, or its certificate is the owner's own, which all may know. */
export function trustSteps({ source, fingerprint_sha256: fingerprint }: TlsView, origin: string): TrustSteps | undefined {
  if (source !== 'own_authority' || fingerprint === undefined || !origin.startsWith('https:')) return undefined;
  return { fingerprint, command: `ATMO_URL=${origin} atmo tls trust ${fingerprint}` };
}
