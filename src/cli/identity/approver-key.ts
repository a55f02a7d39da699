import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signStatement } from '../../codec/approval-statement.ts';
import type { ApprovalDecision } from '../../core/auth/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import { readSmallFile } from '../../core/files/owner-rights.ts';
import { type JsonObject, objectsOf } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { approverKeyPath } from './credential.ts';
import { configDir, makePrivateDir, requirePrivate, stateDirs } from './user-files.ts';

/** Reads a private key (PKCS #8 in PEM, mode 0600). Throws STORAGE_FAILED if the file is absent, malformed or readable by others. */
export function readApproverKey(path: string): KeyObject {
  const key = parseKey(readPrivately(path));
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw new AtmoError('STORAGE_FAILED', `${path} does not hold a private Ed25519 key (PKCS #8 in PEM)`, { path });
}

/** Returns the key in the file. If there is no file, makes a key and writes it. */
export function openApproverKey(path: string): KeyObject {
  if (existsSync(path)) return readApproverKey(path);
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    makePrivateDir(dirname(path));
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError('STORAGE_FAILED', `The key cannot be written to ${path}`, { path }, { cause });
  }
  return privateKey;
}

/** Returns the public key in the form in which it is enrolled: 32 raw bytes in base64url. */
export function rawKeyOf(key: KeyObject): string {
  return (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' }).x ?? '';
}

/**
 * Returns the path of the key to sign with: `given`, or else the path in ATMO_APPROVER_KEY_FILE. If neither is set, returns the path of
 * the user's key file or, if the user has none, the path of the owner's key file. Throws VALIDATION_ERROR if neither file exists.
 */
export function approverKeyFile(env: CliIo['env'], given: string | undefined): string {
  const named = given ?? env.ATMO_APPROVER_KEY_FILE;
  if (named) return named;
  const files = [approverKeyPath(configDir(env)), ...stateDirs(env).map((dir) => join(dir, 'owner.key'))];
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new AtmoError(
    'VALIDATION_ERROR',
    'There is no approver key to sign with; "atmo approver key" makes one, or name it with --key-file',
  );
}

function readPrivately(path: string): string {
  try {
    requirePrivate(path);
    return readSmallFile(path);
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError('STORAGE_FAILED', `The approver key ${path} cannot be read; run as the user it belongs to`, { path }, { cause });
  }
}

/** Parses a private key. Returns undefined if the text is no key. The parser's message is dropped, since it could quote the secret. */
function parseKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

interface Decision {
  readonly decision: ApprovalDecision;
  readonly person: string;
  readonly key: KeyObject;
}

/** Signs a decision about an approval request that the hub returned. Returns the body for `POST /api/v1/approvals/{id}`. */
export function signedDecision(request: JsonObject, { decision, person, key }: Decision): JsonObject {
  const member = (name: string): string => {
    const value = request[name];
    if (typeof value === 'string') return value;
    throw new AtmoError('HUB_UNREACHABLE', `The hub told a request without ${name}; is it a hub of this version?`);
  };
  const statement = {
    approval_id: member('approval_id'),
    decision,
    tool: member('tool'),
    call_hash: member('call_hash'),
    hub: member('hub'),
    expires_at: member('expires_at'),
    person,
  };
  return { decision, person, signature: signStatement(statement, key) };
}

const PERSON = 'owner';

/**
 * Signs the owner's approval of a call that the owner made. Returns undefined if this user has no access to the owner's key, or if the
 * owner has already approved. Also returns undefined if an agent made the call, because a person must read such a request first.
 */
export function ownerDecision(request: JsonObject, stateDir: string): JsonObject | undefined {
  const file = join(stateDir, 'owner.key');
  if (!existsSync(file) || request.agent_id !== PERSON) return undefined;
  if (objectsOf(request.approved_by).some(({ person }) => person === PERSON)) return undefined;
  return signedDecision(request, { decision: 'approve', person: PERSON, key: readApproverKey(file) });
}
