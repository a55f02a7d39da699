import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signStatement } from '../../codec/approval-statement.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { approverKeyPath, homeOf, stateDirs } from './credential.ts';

/** The private key of a file as `owner.key` is: PKCS #8 in PEM, 0600. STORAGE_FAILED with what to do. */
export function readApproverKey(path: string): KeyObject {
  const key = parseKey(readPrivately(path));
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw new AtmoError('STORAGE_FAILED', `${path} does not hold a private Ed25519 key (PKCS #8 in PEM)`, { path });
}

/** The key of the file, made anew with the file where there is none. */
export function openApproverKey(path: string): KeyObject {
  if (existsSync(path)) return readApproverKey(path);
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new AtmoError('STORAGE_FAILED', `The key cannot be written to ${path}`, { path }, { cause });
  }
  return privateKey;
}

/** The public half, 32 raw bytes in base64url: what is enrolled. */
export function rawKeyOf(key: KeyObject): string {
  return (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' }).x ?? '';
}

/** The file to sign with: as said, of the environment, the user's own, else the owner's where this user can read it. */
export function approverKeyFile(env: CliIo['env'], said: string | undefined): string {
  const named = said ?? env.ATMO_APPROVER_KEY_FILE;
  if (named) return named;
  const files = [approverKeyPath(homeOf(env)), ...stateDirs(env).map((dir) => join(dir, 'owner.key'))];
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new AtmoError(
    'VALIDATION_ERROR',
    'There is no approver key to sign with; "atmo approver key" makes one, or name it with --key-file',
  );
}

function readPrivately(path: string): string {
  try {
    const mode = statSync(path).mode & 0o777;
    if ((mode & 0o077) === 0) return readFileSync(path, 'utf8');
    throw new AtmoError('STORAGE_FAILED', `${path} can be read by other users (mode ${mode.toString(8)}): run chmod 600 ${path}`, { path });
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError('STORAGE_FAILED', `The approver key ${path} cannot be read; run as the user it belongs to`, { path }, { cause });
  }
}

/** Undefined for what is no key; the reason could quote the text. */
function parseKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

/** Who decides what. */
export interface Decider {
  readonly decision: 'approve' | 'deny';
  readonly person: string;
  readonly key: KeyObject;
}

/** The body of `POST /api/v1/approvals/{id}` for a request as `GET` told it (docs/approvals.md). */
export function signedDecision(request: JsonObject, { decision, person, key }: Decider): JsonObject {
  const told = (name: string): string => {
    const value = request[name];
    if (typeof value === 'string') return value;
    throw new AtmoError('HUB_UNREACHABLE', `The hub told a request without ${name}; is it a hub of this version?`);
  };
  const statement = {
    approval_id: told('approval_id'),
    decision,
    tool: told('tool'),
    call_hash: told('call_hash'),
    hub: told('hub'),
    expires_at: told('expires_at'),
    person,
  };
  return { decision, person, signature: signStatement(statement, key) };
}

const PERSON = 'owner';

/**
 * The owner's signed approval of the owner's own call: the owner who calls with an approver key approves by the
 * call. Undefined without the key, where the owner has approved already and others have to, and for the request of
 * somebody else: an answer to the owner may name one, and what an agent asks for is for a person to look at.
 */
export function ownerDecision(request: JsonObject, stateDir: string): JsonObject | undefined {
  const file = join(stateDir, 'owner.key');
  if (!existsSync(file) || request.agent_id !== PERSON) return undefined;
  const approvals = Array.isArray(request.approved_by) ? request.approved_by.filter(isJsonObject) : [];
  if (approvals.some(({ person }) => person === PERSON)) return undefined;
  return signedDecision(request, { decision: 'approve', person: PERSON, key: readApproverKey(file) });
}
