/** 32 random bytes in base64url, which a caller makes anew each time. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * What a hub signs with its key to show a caller that it is the one. The port is part of it: who listens elsewhere cannot
 * hand the challenge on to the hub and the answer back. No token or approval of the hub begins like this.
 */
export function challengeStatement(port: number, challenge: string): Uint8Array {
  return Buffer.from(`atmosphere-edge hub challenge v1\n${port}\n${challenge}`, 'utf8');
}
