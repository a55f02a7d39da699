import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { requirePrivateFiles } from '../../core/files/file-system.ts';
import { backupCopyPath, type OnRepaired, RecoverableFile } from '../../core/files/recoverable-file.ts';
import type { CertificateSource, ServedCertificate } from './certificate-manager.ts';
import { makeAuthority, makeServerCertificate, nameScopeFor, nameScopeOf, namesIn, permits } from './x509.ts';

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
/** Maximum validity that browsers accept, in days (CA/Browser Forum BR §6.3.2). */
const SERVER_DAYS = 397;
const RENEW_BEFORE_DAYS = 30;
/**
 * Start of the authority's validity: a fixed date that has certainly passed. The board's clock is not used, because it may be ahead.
 * Clients would then reject the authority as not yet valid.
 */
const AUTHORITY_FROM_MS = Date.UTC(2025, 0, 1);

interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

/** The names under which clients reach the hub. */
interface HubNames {
  /** Returns all names, with the best name first. */
  readonly all: () => readonly string[];
  /** Names in the configuration. The authority must be allowed to sign each of them. Otherwise the hub makes a new authority. */
  readonly configured: readonly string[];
}

/** Makes and renews the hub's own authority, which is valid for ten years, and the server certificates that it signs. */
export class OwnCertificates implements CertificateSource {
  readonly #files: TlsFiles;
  readonly #names: HubNames;

  constructor(files: TlsFiles, names: HubNames) {
    this.#files = files;
    this.#names = names;
  }

  current(nowMs: number): ServedCertificate {
    const authority = this.#authority(nowMs);
    const wanted = this.#names.all().filter((name) => mayVouch(authority, name));
    const present = this.#present();
    const reason = present ? renewalReason(present.certificate, { authority, wanted, nowMs }) : 'there was none';
    if (present && reason === undefined) return servedCertificate(present.certificate, present.key, authority);
    const made = this.#make(authority, wanted, nowMs);
    return {
      ...servedCertificate(new X509Certificate(made.certificate), made.key, authority),
      ...(reason !== undefined && { madeBecause: reason }),
    };
  }

  #authority(nowMs: number): Authority {
    const key = this.#files.read('ca.key');
    const text = this.#files.read('ca.crt');
    // A file is missing at the first start, or if that start was interrupted. No client trusts an authority yet.
    if (key === undefined || text === undefined) return this.#makeAuthority(nowMs);
    const authority = this.#parsed(text, key);
    const endsMs = Date.parse(authority.certificate.validTo);
    const isEnding = nowMs > endsMs - RENEW_BEFORE_DAYS * DAY_MS;
    const isTooNarrow = !this.#names.configured.every((name) => mayVouch(authority, name.toLowerCase()));
    return isEnding || isTooNarrow ? this.#makeAuthority(nowMs) : authority;
  }

  #parsed(text: string, key: string): Authority {
    const authority = pairOf(text, key);
    if (authority?.certificate.ca) return authority;
    const [certificate, secret] = [this.#files.path('ca.crt'), this.#files.path('ca.key')];
    const all = [certificate, secret].flatMap((path) => [path, backupCopyPath(path)]).join(' ');
    throw new AtmoError(
      'STORAGE_FAILED',
      `${certificate} and ${secret} are no authority and its key. Restore both from a backup, or delete both and their copies ` +
        `(rm ${all}): the next start makes a new authority, which every client then has to trust anew`,
      { path: certificate },
    );
  }

  #makeAuthority(nowMs: number): Authority {
    const untilMs = nowMs + AUTHORITY_DAYS * DAY_MS;
    const year = new Date(untilMs).getUTCFullYear();
    const names = this.#names.all();
    const name = `atmosphere-edge ${names[0] ?? 'hub'} until ${year}`;
    const made = makeAuthority(name, nameScopeFor(names), { fromMs: AUTHORITY_FROM_MS, untilMs });
    this.#files.write('ca.key', made.key);
    this.#files.write('ca.crt', made.certificate);
    return { certificate: new X509Certificate(made.certificate), key: createPrivateKey(made.key) };
  }

  /** Returns the current certificate. If it is missing or damaged, returns undefined; a new certificate is then needed. */
  #present() {
    const [text, key] = [this.#files.read('server.crt'), this.#files.read('server.key')];
    const pair = text === undefined || key === undefined ? undefined : pairOf(text, key);
    return pair && key !== undefined ? { certificate: pair.certificate, key } : undefined;
  }

  #make(authority: Authority, names: readonly string[], nowMs: number) {
    const fromMs = Math.max(nowMs - DAY_MS, AUTHORITY_FROM_MS);
    const untilMs = Math.min(fromMs + SERVER_DAYS * DAY_MS, Date.parse(authority.certificate.validTo));
    const issuer = { name: authority.certificate.subject.replace(/^CN=/, ''), key: authority.key };
    const made = makeServerCertificate(issuer, names, { fromMs, untilMs });
    this.#files.write('server.key', made.key);
    this.#files.write('server.crt', made.certificate);
    return made;
  }
}

/** Returns whether an authority may sign a certificate for a name. An authority without name constraints may sign for every name. */
function mayVouch({ certificate }: Authority, name: string): boolean {
  const scope = nameScopeOf(certificate);
  return scope === undefined || permits(scope, name);
}

interface CertificateNeeds {
  readonly authority: Authority;
  readonly wanted: readonly string[];
  readonly nowMs: number;
}

/** Returns why a new certificate is needed; undefined if the current one is still good. */
function renewalReason(certificate: X509Certificate, { authority, wanted, nowMs }: CertificateNeeds): string | undefined {
  if (!certificate.verify(authority.certificate.publicKey)) return 'the authority is another one';
  if (nowMs < Date.parse(certificate.validFrom)) return 'the clock was ahead when it was made';
  if (nowMs > Date.parse(certificate.validTo) - RENEW_BEFORE_DAYS * DAY_MS) return 'it ends soon';
  const present = new Set(namesIn(certificate));
  const missing = wanted.filter((name) => !present.has(name));
  return missing.length > 0 ? `the hub is also reached as ${missing.join(', ')}` : undefined;
}

function pairOf(text: string, keyText: string): Authority | undefined {
  try {
    const [certificate, key] = [new X509Certificate(text), createPrivateKey(keyText)];
    return certificate.checkPrivateKey(key) ? { certificate, key } : undefined;
  } catch {
    // The file is damaged. The caller handles this. The parser's message is dropped, since it could quote a key.
    return undefined;
  }
}

function servedCertificate(certificate: X509Certificate, key: string, authority: Authority): ServedCertificate {
  const root = authority.certificate.toString();
  return { chain: `${certificate.toString()}${root}`, key, authority: root, names: namesIn(certificate) };
}

/** `acme.pem` has a certificate with its key, so that a crash never leaves one without the other. */
type FileName = 'ca.crt' | 'ca.key' | 'server.crt' | 'server.key' | 'acme.pem' | 'acme-account.key';

/** The folder with the certificates and keys that the hub made or was issued. No other user may read its files. */
export class TlsFiles {
  readonly #directory: string;
  readonly #onRepaired: OnRepaired;

  constructor(directory: string, onRepaired: OnRepaired) {
    this.#directory = directory;
    this.#onRepaired = onRepaired;
  }

  path(name: FileName): string {
    return join(this.#directory, name);
  }

  /** Returns the text of a file; undefined if the file is missing. Throws STORAGE_FAILED if other users can access it or its copy. */
  read(name: FileName): string | undefined {
    const path = this.path(name);
    return guarded(path, () => {
      requirePrivateFiles([path, backupCopyPath(path)], 'delete the folder instead: the next start makes new certificates');
      return this.#kept(name).read();
    });
  }

  /** Writes a file durably. After a crash the file has either its old or its new text. */
  write(name: FileName, text: string): void {
    const path = this.path(name);
    guarded(path, () => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      this.#kept(name).write(text);
    });
  }

  #kept(name: FileName): RecoverableFile {
    const isWhole = name.endsWith('.key')
      ? isKey
      : name.endsWith('.crt')
        ? isCertificate
        : (text: string) => isKey(text) && isCertificate(text);
    return new RecoverableFile({ path: this.path(name), isWhole, onRepaired: this.#onRepaired });
  }
}

function guarded<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} cannot be read or written; free space or mend its permissions (${reason})`,
      { path },
      { cause },
    );
  }
}

function isKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
