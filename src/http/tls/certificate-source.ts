import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AtmoError } from '../../core/errors.ts';
import { namesIn } from './tls-names.ts';

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

/** Files of a certificate that the owner got elsewhere. */
export interface CertificateFiles {
  /** PEM, the server's own first, then the chain. */
  readonly certificateFile: string;
  /** PEM. */
  readonly keyFile: string;
}

/** The owner's own certificate; who renews it replaces the files. */
export class CertificateFromFiles implements CertificateSource {
  readonly #files: CertificateFiles;

  constructor(files: CertificateFiles) {
    this.#files = files;
  }

  /** CONFIG_INVALID when a file cannot be read, is no certificate or no key, or both do not belong together. */
  current(): ServedCertificate {
    const { certificateFile, keyFile } = this.#files;
    const chain = readText(certificateFile, 'http.tls.certificate_file');
    const key = readText(keyFile, 'http.tls.key_file');
    const certificate = parsed(certificateFile, 'a certificate in PEM', () => new X509Certificate(chain));
    const privateKey = parsed(keyFile, 'a private key in PEM without a passphrase', () => createPrivateKey(key));
    if (certificate.checkPrivateKey(privateKey)) return { chain, key, names: namesIn(certificate) };
    throw new AtmoError('CONFIG_INVALID', `The key in ${keyFile} is not the one of the certificate in ${certificateFile}`, {
      path: keyFile,
    });
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

/** The parser's own reason is left out: it could quote a key. */
function parsed<Value>(path: string, what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch {
    throw new AtmoError('CONFIG_INVALID', `${path} does not begin with ${what}`, { path });
  }
}
