import type { Principal } from '../../core/principal.ts';

/**
 * An agent whose token another hub issued is `<name>@<hub id>`, its children `<name>@<hub id>/<child>`: the names are that
 * hub's, and even its `owner` is an agent here. No agent of this hub has an `@` in its name.
 */
export function guestId(subject: string, issuer: string): string {
  const [root = subject, ...children] = subject.split('/');
  return [`${root}@${issuer}`, ...children].join('/');
}

/** The hub that issued the token of an agent with this id; undefined for an agent of this hub. */
export function originOf({ id, kind }: Principal): string | undefined {
  const [root = ''] = id.split('/', 1);
  const at = root.indexOf('@');
  return kind === 'agent' && at > 0 ? root.slice(at + 1) : undefined;
}
