import { isIPv4 } from 'node:net';
import { isLoopback } from './loopback.ts';

/**
 * Who counts as one source: an IPv4 address, a /64 of IPv6 (one household or machine has all of it, RFC 4291 §2.5.4),
 * or `local` for this machine.
 */
export function sourceOf(remoteAddress: string | undefined): string {
  const address = remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
  if (address === '' || isLoopback(address)) return 'local';
  return isIPv4(address) ? address : networkOf(address);
}

function networkOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16).toString(16));
}
