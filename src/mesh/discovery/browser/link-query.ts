import { encodeDnsMessage } from '../dns/dns-message.ts';
import type { DnsQuestion, DnsRecord } from '../dns/dns-record.ts';
import type { DnsLink } from '../link/dns-link.ts';

const KNOWN_IN_A_MESSAGE = 12;
const MAX_MESSAGES = 8;

/**
 * Asks all neighbours and tells what is known already, in several messages where one is too small (RFC 6762 7.2). Never
 * for an answer to this hub alone: of the programs that share port 5353 any could get it.
 */
export function ask(link: DnsLink, names: readonly Omit<DnsQuestion, 'wantsUnicast'>[], known: readonly DnsRecord[] = []): void {
  const messages = Math.max(1, Math.min(MAX_MESSAGES, Math.ceil(known.length / KNOWN_IN_A_MESSAGE)));
  const questions = names.map((name) => ({ ...name, wantsUnicast: false }));
  for (let index = 0; index < messages; index++) {
    const answers = known.slice(index * KNOWN_IN_A_MESSAGE, (index + 1) * KNOWN_IN_A_MESSAGE);
    void link.send(
      encodeDnsMessage({ kind: 'query', isTruncated: index < messages - 1, questions: index === 0 ? questions : [], answers }),
    );
  }
}
