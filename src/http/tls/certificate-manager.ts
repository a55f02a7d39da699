import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { createSecureContext } from 'node:tls';
import { repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import { repairReporter } from '../../core/files/recoverable-file.ts';
import type { HubProblems } from '../../core/health.ts';
import type { Service } from '../../core/lifecycle.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import { AcmeCertificate, type AcmeOptions } from './acme-certificate.ts';
import { OwnCertificates, TlsFiles } from './own-certificates.ts';
import { covers, type MachineNames, namesIn, namesOf } from './x509.ts';

/** The TLS settings of the owner. */
export interface TlsOptions {
  /** Folder for the certificates that the hub makes for its own authority and for the server. */
  readonly directory: string;
  /** Host names and addresses under which clients reach the hub, beside the machine's own. */
  readonly names: readonly string[];
  /** Files of the owner's certificate. If present, the server uses it instead of a certificate from the hub's authority. */
  readonly files?: CertificateFiles;
  /** How the hub gets a certificate for names from an authority that browsers trust. Clients that ask for another name get the hub's own. */
  readonly acme?: AcmeOptions;
}

interface CertificateManagerCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  /** Clock in milliseconds since 1970. If the machine's clock shows an impossibly early time, this clock shows a later time. */
  readonly time: { now(): number };
  readonly events: Pick<EventBus, 'emit'>;
  readonly problems: Pick<HubProblems, 'raise'>;
  readonly machine?: () => MachineNames;
}

/** Public facts about the hub's certificate. */
export interface CertificateFacts {
  /** Where the certificate comes from: the hub's own authority, files of the owner, or an ACME authority. */
  readonly source: 'own-authority' | 'files' | 'acme';
  /** SHA-256 of the own authority's certificate, as AA:BB:…. If `source` is `files`, it is the SHA-256 of the owner's certificate. */
  readonly fingerprint: string;
  /** The names and addresses of the hub, those of the certificate first. */
  readonly names: readonly string[];
  /** Who signed the certificate, such as `Let's Encrypt R11`. */
  readonly issuer: string;
  readonly certificateEndsAtMs: number;
  /** Why the hub could not get or renew the certificate of the ACME authority; absent if it could. */
  readonly problem?: string;
  /** The certificate of the hub's authority, and its expiry; absent if the owner has provided the server's certificate. */
  readonly authority?: { readonly pem: string; readonly endsAtMs: number };
}

/** Interval in milliseconds of the certificate check, which notices new addresses and files. */
const CHECK_MS = 60_000;

/** Keeps the server's certificate up to date. It checks the certificate's names, validity and files every minute. */
export class CertificateManager implements Service {
  readonly #parts: CertificateManagerCollaborators;
  readonly #options: TlsOptions;
  readonly #source: CertificateSource;
  readonly #acme: AcmeCertificate | undefined;
  #served: ServedCertificate | undefined;
  #problem: string | undefined;
  #stop = () => {};
  #tell: (served: ServedCertificate) => void = () => {};

  /** `host` is the address at which the server listens. */
  constructor(collaborators: CertificateManagerCollaborators, options: TlsOptions & { readonly host: string }) {
    this.#parts = collaborators;
    this.#options = options;
    const { machine = thisMachine } = collaborators;
    const { names: configured, host } = options;
    const names = { all: () => namesOf({ host, configured, ...machine() }), configured };
    const files = new TlsFiles(options.directory, repairReporter(collaborators));
    this.#source = options.files ? new CertificateFromFiles(options.files) : new OwnCertificates(files, names);
    const { clock, time, logger } = collaborators;
    this.#acme = options.acme && new AcmeCertificate({ clock, time, logger, files, onChange: () => this.#acmeChanged() }, options.acme);
  }

  /**
   * Loads or makes the certificate. Rejects with CONFIG_INVALID if a file of the owner is faulty. Rejects with STORAGE_FAILED if a file of
   * the hub is faulty.
   */
  async start(): Promise<void> {
    await this.#acme?.start();
    this.#serve(this.#current());
    this.#stop = repeat(this.#parts.clock, CHECK_MS, () => this.#check());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#acme?.[Symbol.asyncDispose]();
  }

  /** The current certificate. Throws CONFLICT before the start. */
  get served(): ServedCertificate {
    if (this.#served) return this.#served;
    throw new AtmoError('CONFLICT', 'The certificate is not there before the HTTP interface has started; wait for start()');
  }

  onChange(listener: (served: ServedCertificate) => void): void {
    this.#tell = listener;
  }

  /** Returns whether a name or address (without brackets) is in the certificate or in the configuration. */
  isOwnName(name: string): boolean {
    const { names, named } = this.served;
    return [names, named?.names ?? [], this.#options.names].some((known) => covers(known, name));
  }

  facts(): CertificateFacts {
    const { chain, authority, names, named } = this.served;
    const shown = new X509Certificate(named?.chain ?? chain);
    const root = authority === undefined ? undefined : new X509Certificate(authority);
    const problem = this.#acme?.problem;
    return {
      source: named ? 'acme' : root ? 'own-authority' : 'files',
      fingerprint: (root ?? shown).fingerprint256,
      names: [...new Set([...(named?.names ?? []), ...names])],
      issuer: issuerOf(shown),
      certificateEndsAtMs: Date.parse(shown.validTo),
      ...(problem !== undefined && { problem }),
      ...(root && { authority: { pem: root.toString(), endsAtMs: Date.parse(root.validTo) } }),
    };
  }

  #current(): ServedCertificate {
    const served = this.#source.current(this.#parts.time.now());
    const named = this.#acme?.certificate;
    return named ? { ...served, named } : served;
  }

  #acmeChanged(): void {
    this.#check();
    const message = this.#acme?.problem;
    if (message !== undefined) this.#parts.events.emit('hub.warning', 'tls', { warning: 'tls.acme', message });
  }

  /** Renews the certificate if needed. If that fails, reports a problem and keeps the current certificate. */
  #check(): void {
    try {
      const served = this.#current();
      this.#problem = undefined;
      if (!isSame(served, this.#served) || !isSame(served.named, this.#served?.named)) this.#serve(served);
    } catch (thrown) {
      this.#warn(toAtmoError(thrown).message);
    }
  }

  #serve(served: ServedCertificate): void {
    const before = this.#served;
    this.#served = served;
    const { madeBecause } = served;
    if (before === undefined && madeBecause === undefined) return;
    this.#tell(served);
    const { fingerprint, certificateEndsAtMs, issuer } = this.facts();
    const ends = new Date(certificateEndsAtMs).toISOString();
    this.#parts.logger.info('tls.certificate', { fingerprint, issuer, ends, ...(madeBecause !== undefined && { reason: madeBecause }) });
    if (before?.authority !== undefined && before.authority !== served.authority) {
      this.#warn(`The hub has a new authority, which every client has to trust anew: ${fingerprint}`);
    }
  }

  /** Reports a problem. Does nothing while the problem stays the same. */
  #warn(message: string): void {
    if (this.#problem === message) return;
    this.#problem = message;
    this.#parts.logger.warn('tls.problem', { message });
    this.#parts.events.emit('hub.warning', 'tls', { warning: 'tls.problem', message });
  }
}

/** Returns who signed a certificate: its organization and its name. */
function issuerOf({ issuer }: X509Certificate): string {
  const parts = ['O', 'CN'].flatMap((key) => new RegExp(`^${key}=(.+)$`, 'm').exec(issuer)?.[1] ?? []);
  return visibleText(parts.join(' '), 120);
}

function thisMachine(): MachineNames {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return { hostName: hostname(), addresses };
}

/** A certificate with its key, as a TLS handshake needs it. */
export interface NamedCertificate {
  /** Certificates in PEM: the server's own first, then those of its issuers. */
  readonly chain: string;
  /** Private key in PEM. */
  readonly key: string;
  readonly names: readonly string[];
}

/** The certificate that clients get, and a second one for those that ask for one of its names. */
export interface ServedCertificate extends NamedCertificate {
  /** Certificate of the hub's own authority in PEM; absent if the owner has provided the certificate. */
  readonly authority?: string;
  /** Certificate of an ACME authority; absent if the hub has none. */
  readonly named?: NamedCertificate;
  /** Why the certificate was made now; absent if it already existed. */
  readonly madeBecause?: string;
}

function isSame(one: NamedCertificate | undefined, other: NamedCertificate | undefined): boolean {
  return one?.chain === other?.chain && one?.key === other?.key;
}

/** Port: a source of certificates. */
export interface CertificateSource {
  /** Returns the certificate for a time in milliseconds since 1970. Throws CONFIG_INVALID or STORAGE_FAILED if that fails. */
  current(nowMs: number): ServedCertificate;
}

interface CertificateFiles {
  /** PEM file with the server's certificate first, then the certificates of its issuers. */
  readonly certificateFile: string;
  /** PEM file with the private key. */
  readonly keyFile: string;
}

/** Reads the owner's certificate from files. The owner renews it by replacing these files. */
class CertificateFromFiles implements CertificateSource {
  readonly #files: CertificateFiles;

  constructor(files: CertificateFiles) {
    this.#files = files;
  }

  /** Returns the certificate. Throws CONFIG_INVALID if a file cannot be read or parsed, or if the key does not match. */
  current(): ServedCertificate {
    const { certificateFile, keyFile } = this.#files;
    const chain = readText(certificateFile, 'http.tls.certificate_file');
    const key = readText(keyFile, 'http.tls.key_file');
    const certificate = parsed(certificateFile, 'a certificate in PEM', () => new X509Certificate(chain));
    const privateKey = parsed(keyFile, 'a private key in PEM without a passphrase', () => createPrivateKey(key));
    if (!certificate.checkPrivateKey(privateKey)) {
      throw new AtmoError('CONFIG_INVALID', `The key in ${keyFile} is not the one of the certificate in ${certificateFile}`, {
        path: keyFile,
      });
    }
    requireForTls(certificateFile, { chain, key });
    return { chain, key, names: namesIn(certificate) };
  }
}

function readText(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AtmoError('CONFIG_INVALID', `${setting} names ${path}, which cannot be read (${reason})`, { path }, { cause });
  }
}

/** Throws CONFIG_INVALID if TLS cannot use the certificates, for example because one after the first is damaged. */
function requireForTls(path: string, { chain, key }: Pick<NamedCertificate, 'chain' | 'key'>): void {
  try {
    createSecureContext({ cert: chain, key });
  } catch (cause) {
    throw new AtmoError('CONFIG_INVALID', `TLS cannot use the certificates in ${path}: is each one whole?`, { path }, { cause });
  }
}

/** Returns the parsed content of a file. If parsing fails, the error omits the parser's message, since that could quote a key. */
function parsed<Value>(path: string, what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch {
    throw new AtmoError('CONFIG_INVALID', `${path} does not begin with ${what}`, { path });
  }
}
