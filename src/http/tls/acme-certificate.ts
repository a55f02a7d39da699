import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { isoTime, repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { AcmeConfig } from './acme-config.ts';
import { type DnsRecords, orderCertificate } from './acme-order.ts';
import { type AcmeFetch, AcmeSession } from './acme-session.ts';
import type { NamedCertificate } from './certificate-manager.ts';
import type { TlsFiles } from './own-certificates.ts';
import { namesIn, type Validity } from './x509.ts';

/** The owner's settings, and what the hub needs to follow them. */
export interface AcmeOptions {
  readonly config: AcmeConfig;
  readonly fetch: AcmeFetch;
  readonly dns: DnsRecords;
}

interface AcmeCertificateCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly time: { now(): number };
  readonly files: Pick<TlsFiles, 'read' | 'write'>;
  /** Called when there is a new certificate, or another problem, or none any more. */
  readonly onChange: () => void;
}

/** A certificate with the times between which it is valid, in milliseconds since 1970. */
interface KeptCertificate extends NamedCertificate, Validity {
  /** URL of the directory of the authority that issued it. */
  readonly directory?: string;
}

const MINUTE_MS = 60_000;
const FIRST_TRY_MS = 10_000;
/**
 * A try that failed, or that gave a certificate which is due at once, is repeated after this time, then after twice as long, and so on.
 * Authorities allow few failures in an hour, and few certificates in a week.
 */
const RETRY_MS = { first: 15 * MINUTE_MS, most: 12 * 60 * MINUTE_MS };
/** Longest Retry-After of an authority that is respected. */
const MAX_RETRY_AFTER_MS = 7 * 24 * 60 * MINUTE_MS;

/** Gets a certificate for the hub's names from an ACME authority (RFC 8555), keeps it, and renews it when a third of its time is left. */
export class AcmeCertificate implements Service {
  readonly #parts: AcmeCertificateCollaborators;
  readonly #options: AcmeOptions;
  readonly #ending = new AbortController();
  #current: KeptCertificate | undefined;
  #problem: string | undefined;
  #failures = 0;
  /** When the next try may begin, in milliseconds of the monotonic clock. */
  #nextTryMs = 0;
  #attempt: Promise<void> | undefined;
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: AcmeCertificateCollaborators, options: AcmeOptions) {
    this.#parts = collaborators;
    this.#options = options;
  }

  /** Reads the stored certificate. Throws STORAGE_FAILED if its file cannot be used. */
  async start(): Promise<void> {
    const { clock, files } = this.#parts;
    this.#current = keptCertificate(files.read('acme.pem'));
    const check = () => this.#check();
    this.#stops = [clock.after(FIRST_TRY_MS, check), repeat(clock, MINUTE_MS, check)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#ending.abort(new AtmoError('SHUTTING_DOWN', 'The hub is stopping'));
    await this.#attempt;
  }

  /** The certificate; undefined until the hub got the first one. It stays after its end, until there is a new one. */
  get certificate(): NamedCertificate | undefined {
    return this.#current;
  }

  /** Why the last try to get a certificate failed; undefined if it did not fail. */
  get problem(): string | undefined {
    return this.#problem;
  }

  #check(): void {
    const { clock, time } = this.#parts;
    if (this.#attempt !== undefined || clock.monotonic() < this.#nextTryMs || !this.#isDue(time.now())) return;
    this.#attempt = this.#renew().finally(() => {
      this.#attempt = undefined;
    });
  }

  #isDue(nowMs: number): boolean {
    if (this.#current === undefined) return true;
    const { names, directory, fromMs, untilMs } = this.#current;
    const { config } = this.#options;
    const isOfOrder = directory === config.directory && config.names.every((name) => names.includes(name));
    return !isOfOrder || nowMs >= untilMs - (untilMs - fromMs) / 3;
  }

  /** Gets a new certificate. If that fails, keeps the current one and reports the problem. Never rejects. */
  async #renew(): Promise<void> {
    try {
      this.#current = await this.#order();
      this.#problem = undefined;
      if (this.#isDue(this.#parts.time.now())) this.#backOff();
      else this.#failures = 0;
    } catch (thrown) {
      if (this.#ending.signal.aborted) return;
      this.#fail(toAtmoError(thrown));
    }
    this.#parts.onChange();
  }

  async #order(): Promise<KeptCertificate> {
    const { clock, time, files } = this.#parts;
    const { config, fetch, dns } = this.#options;
    const { signal } = this.#ending;
    const session = await AcmeSession.open(
      { fetch, key: this.#accountKey(), time, signal },
      { directory: config.directory, email: config.email },
    );
    const onRecordLeft = ({ name }: { readonly name: string }, thrown: unknown) =>
      this.#parts.logger.warn('acme.dns_record_left', { name, problem: toAtmoError(thrown).message });
    const order = { names: config.names, propagationMs: config.dnsWaitSeconds * 1_000 };
    const { chain, key } = await orderCertificate({ session, dns, clock, signal, onRecordLeft }, order);
    const text = `${DIRECTORY_LINE} ${config.directory}\n${key}${chain}`;
    const issued = issuedCertificate(text, { names: config.names, nowMs: time.now() });
    files.write('acme.pem', text);
    return issued;
  }

  #accountKey(): KeyObject {
    const { files } = this.#parts;
    const stored = files.read('acme-account.key');
    if (stored !== undefined) return createPrivateKey(stored);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    files.write('acme-account.key', String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    return privateKey;
  }

  /** Sets when the next try may begin, and returns how long that is from now. */
  #backOff(leastMs = 0): number {
    const waitMs = Math.max(leastMs, Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#failures));
    this.#failures++;
    this.#nextTryMs = this.#parts.clock.monotonic() + waitMs;
    return waitMs;
  }

  #fail({ code, message, details }: AtmoError): void {
    const { time, logger } = this.#parts;
    const waitMs = this.#backOff(typeof details.retry_after_ms === 'number' ? Math.min(MAX_RETRY_AFTER_MS, details.retry_after_ms) : 0);
    const names = this.#options.config.names.join(', ');
    const what = this.#current ? `The certificate for ${names} could not be renewed` : `The hub got no certificate for ${names}`;
    this.#problem = `${what}: ${message}`;
    logger.warn('acme.failed', { code, message: this.#problem, next_try: isoTime(time.now() + waitMs) });
  }
}

/**
 * Returns the certificate that an authority issued, in a text with its private key and its chain. Throws SERVICE_REFUSED unless TLS accepts
 * it, it is valid now, and it is for exactly these names: the hub writes addresses with them.
 */
export function issuedCertificate(
  text: string,
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): KeptCertificate {
  const issued = keptCertificate(text);
  const isOrdered = issued?.names.length === names.length && names.every((name) => issued.names.includes(name));
  if (!issued || !isOrdered) {
    throw new AtmoError('SERVICE_REFUSED', 'What the authority issued is no certificate for the key and names of the order');
  }
  if (issued.fromMs <= nowMs && nowMs < issued.untilMs) return issued;
  const period = `from ${isoTime(issued.fromMs)} to ${isoTime(issued.untilMs)}`;
  throw new AtmoError('SERVICE_REFUSED', `The authority issued a certificate ${period}; is the clock of the hub right?`);
}

/** The file begins with this text and the directory; text before the first block belongs to no block (RFC 7468 §5.2). */
const DIRECTORY_LINE = 'directory:';

/** Returns the certificate in a text with its private key and its chain; undefined if there is none, or TLS does not accept it. */
function keptCertificate(text: string | undefined): KeptCertificate | undefined {
  if (text === undefined) return undefined;
  try {
    const certificate = new X509Certificate(text);
    if (!certificate.checkPrivateKey(createPrivateKey(text))) return undefined;
    const chain = (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? []).join('');
    const key = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text)?.[0] ?? '';
    createSecureContext({ cert: chain, key });
    const directory = new RegExp(`^${DIRECTORY_LINE} (\\S+)$`, 'm').exec(text)?.[1];
    const validity = { fromMs: Date.parse(certificate.validFrom), untilMs: Date.parse(certificate.validTo) };
    return { chain, key, names: namesIn(certificate), ...validity, ...(directory !== undefined && { directory }) };
  } catch {
    return undefined;
  }
}
