import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { repeat } from '../../core/clock.ts';
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
interface KeptCertificate extends NamedCertificate, Validity {}

const MINUTE_MS = 60_000;
const FIRST_TRY_MS = 10_000;
/** A failed try is repeated after this time, then after twice as long, and so on. Authorities allow few failures in an hour. */
const RETRY_MS = { first: 15 * MINUTE_MS, most: 12 * 60 * MINUTE_MS };
/** Longest time for which an authority's wish to be left alone is followed. */
const MOST_PATIENCE_MS = 7 * 24 * 60 * MINUTE_MS;

/** Gets a certificate for the hub's names from an ACME authority (RFC 8555), keeps it, and renews it when a third of its time is left. */
export class AcmeCertificate implements Service {
  readonly #parts: AcmeCertificateCollaborators;
  readonly #options: AcmeOptions;
  readonly #ending = new AbortController();
  #current: KeptCertificate | undefined;
  #problem: string | undefined;
  #failures = 0;
  #nextTryMs = 0;
  #attempt: Promise<void> | undefined;
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: AcmeCertificateCollaborators, options: AcmeOptions) {
    this.#parts = collaborators;
    this.#options = options;
  }

  /** Reads the certificate of before. Throws STORAGE_FAILED if its file cannot be used. */
  async start(): Promise<void> {
    const { clock, files } = this.#parts;
    this.#current = keptCertificate(files.read('acme.pem'));
    const look = () => this.#look();
    this.#stops = [clock.after(FIRST_TRY_MS, look), repeat(clock, MINUTE_MS, look)];
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

  #look(): void {
    const nowMs = this.#parts.time.now();
    if (this.#attempt !== undefined || nowMs < this.#nextTryMs || !this.#isDue(nowMs)) return;
    this.#attempt = this.#renew().finally(() => {
      this.#attempt = undefined;
    });
  }

  #isDue(nowMs: number): boolean {
    if (this.#current === undefined) return true;
    const { names, fromMs, untilMs } = this.#current;
    if (!this.#options.config.names.every((name) => names.includes(name))) return true;
    return nowMs >= untilMs - (untilMs - fromMs) / 3;
  }

  /** Gets a new certificate. If that fails, keeps the current one and reports the problem. Never rejects. */
  async #renew(): Promise<void> {
    try {
      this.#current = await this.#order();
      this.#problem = undefined;
      this.#failures = 0;
      this.#nextTryMs = 0;
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
    const issued = keptCertificate(`${key}${chain}`);
    if (!issued || !config.names.every((name) => issued.names.includes(name))) {
      throw new AtmoError('SERVICE_REFUSED', 'What the authority issued is no certificate for the key and names of the order');
    }
    files.write('acme.pem', `${key}${chain}`);
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

  #fail({ code, message, details }: AtmoError): void {
    const { time, logger } = this.#parts;
    const backOffMs = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#failures);
    const wishedMs = typeof details.retry_after_ms === 'number' ? Math.min(MOST_PATIENCE_MS, details.retry_after_ms) : 0;
    this.#failures++;
    this.#nextTryMs = time.now() + Math.max(backOffMs, wishedMs);
    const names = this.#options.config.names.join(', ');
    const what = this.#current ? `The certificate for ${names} could not be renewed` : `The hub got no certificate for ${names}`;
    this.#problem = `${what}: ${message}`;
    logger.warn('acme.failed', { code, message: this.#problem, next_try: new Date(this.#nextTryMs).toISOString() });
  }
}

/** Returns the certificate in a text with its private key and its chain; undefined if there is none, or the key is another one's. */
function keptCertificate(text: string | undefined): KeptCertificate | undefined {
  if (text === undefined) return undefined;
  try {
    const certificate = new X509Certificate(text);
    if (!certificate.checkPrivateKey(createPrivateKey(text))) return undefined;
    const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
    const key = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text)?.[0] ?? '';
    const validity = { fromMs: Date.parse(certificate.validFrom), untilMs: Date.parse(certificate.validTo) };
    return { chain: blocks.join(''), key, names: namesIn(certificate), ...validity };
  } catch {
    return undefined;
  }
}
