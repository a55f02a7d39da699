import { isJsonObject, jsonIn } from '../../core/json.ts';
import { bytesOfBase64Url } from './base64-url.ts';
import type { KeptKey } from './kept-key.ts';

/** Who is signed in: a token, and for who approves a name and the private key to sign with. */
export interface Login {
  readonly token: string;
  readonly person?: string;
  /** Seed of the Ed25519 key, 32 bytes in base64url; or the key itself, which tells nobody its seed. */
  readonly key?: string | KeptKey;
}

const FRAGMENT = /^#login=([A-Za-z0-9_.~-]{1,8192})$/;
/** Visible ASCII, as a header can carry it. */
const TOKEN = /^[\x21-\x7e]{8,4096}$/;
const SEED = /^[A-Za-z0-9_-]{43}$/;

/**
 * The login of a link that `atmo monitor` made: `#login=` and token, person and seed with `~` between them, where the token of
 * a hub has dots; else base64url of JSON. Undefined for every other fragment.
 */
export function loginOfFragment(fragment: string): Login | undefined {
  const text = FRAGMENT.exec(fragment)?.[1];
  if (text === undefined) return undefined;
  if (!text.includes('.')) return loginOfJson(new TextDecoder().decode(bytesOfBase64Url(text)));
  const [token, person, key] = text.split('~');
  return loginOf({ token, person: person || undefined, key: key || undefined });
}

/** A login from its JSON; undefined when it is none. */
export function loginOfJson(text: string): Login | undefined {
  return loginOf(jsonIn(text));
}

/** A login from its members, a seed as its key; undefined when it is none. */
export function loginOf(value: unknown): Login | undefined {
  if (!isJsonObject(value) || typeof value.token !== 'string' || !TOKEN.test(value.token)) return undefined;
  const { token, person, key } = value;
  return {
    token,
    ...(typeof person === 'string' && { person }),
    ...(typeof key === 'string' && SEED.test(key) && { key }),
  };
}

/** The login of what a person pasted: a token, a whole link, or its JSON. */
export function loginOfPaste(text: string): Login | undefined {
  const trimmed = text.trim();
  const hash = trimmed.indexOf('#login=');
  if (hash !== -1) return loginOfFragment(trimmed.slice(hash));
  return trimmed.startsWith('{') ? loginOfJson(trimmed) : loginOf({ token: trimmed });
}
