import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';
import { type CertificateChain, decodeCertificateChain, encodeCertificateChain } from '../../../wire/messages/certificate.ts';

/** What a hub keeps of its own membership. */
export interface OwnRecord {
  /** Raw root key of the mesh, base64url. */
  readonly rootKey: string;
  readonly certificate: CertificateChain;
  /** What the owner calls the mesh; only hubs where it was said know it. */
  readonly name?: string;
  /** `host:port` of hubs that were there when this one joined. */
  readonly addresses: readonly string[];
}

/** The form that is stored. */
export function ownRecordJson({ rootKey, certificate, name, addresses }: OwnRecord): JsonObject {
  const chain = Buffer.from(encodeCertificateChain(certificate)).toString('base64url');
  return { rootKey, certificate: chain, addresses, ...(name !== undefined && { name }) };
}

/** The other way round. VALIDATION_ERROR for what no version of the hub wrote. */
export function parseOwnRecord(value: Json): OwnRecord {
  if (
    !isJsonObject(value) ||
    typeof value.rootKey !== 'string' ||
    typeof value.certificate !== 'string' ||
    !Array.isArray(value.addresses)
  ) {
    throw new AtmoError('VALIDATION_ERROR', 'The stored membership is not of a form that this version knows');
  }
  const { rootKey, certificate, name, addresses } = value;
  return {
    rootKey,
    certificate: decodeCertificateChain(Buffer.from(certificate, 'base64url')),
    ...(typeof name === 'string' && { name }),
    addresses: addresses.map(String),
  };
}
