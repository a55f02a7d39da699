import { AtmoError } from '../../core/errors.ts';
import { message, required } from '../message.ts';
import { messageCodec } from '../message-codec.ts';
import { hex, publicKey } from '../message-encodings.ts';
import { list } from '../message-lists.ts';
import { bytes, text, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';

const PREFIX = 'atmo-join1.';
const MAX_BYTES = 1_280;

const INVITE = message({
  /** Raw Ed25519 key of the mesh's root, base64url: 32 bytes. */
  rootKey: required(1, publicKey),
  /** 8 bytes, hex. */
  id: required(2, hex({ min: 8, max: 8 })),
  secret: required(3, bytes({ min: 16, max: 16 })),
  /** Seconds since 1970. */
  expiresAt: required(4, uint({ max: 253_402_300_799 })),
  /** `host:port`; empty where the hubs find each other on the local network. */
  addresses: required(5, list(text({ max: 261 }), { max: 4 })),
});

/** What a new hub needs to join a mesh: whoever reads it may use it once. */
export type Invite = ValueOf<typeof INVITE>;

const CODEC = messageCodec('Invite', INVITE, { maxBytes: MAX_BYTES, maxDepth: 2, maxItems: 16 });

/** One line of text, `atmo-join1.` and base64url. VALIDATION_ERROR. */
export function inviteText(invite: Invite): string {
  return `${PREFIX}${Buffer.from(CODEC.encode(invite)).toString('base64url')}`;
}

/** The invite of a text that a person pasted; white space around it is ignored. VALIDATION_ERROR never repeats the text: it is a secret. */
export function parseInvite(pasted: string): Invite {
  const trimmed = pasted.trim();
  const encoded = Buffer.from(trimmed.slice(PREFIX.length), 'base64url');
  if (!trimmed.startsWith(PREFIX) || encoded.toString('base64url') !== trimmed.slice(PREFIX.length)) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `The invite is incomplete or was changed: it begins with ${PREFIX} and is one line; copy it again`,
    );
  }
  return CODEC.decode(encoded);
}
