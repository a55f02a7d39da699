import type { Clock } from '../../../core/time/clock.ts';
import { encodeDnsMessage } from '../dns/dns-message.ts';
import { type DnsRecord, recordKey } from '../dns/dns-record.ts';
import type { DnsLink } from '../link/dns-link.ts';

const ANNOUNCEMENTS = 2;
const ANNOUNCE_EVERY_MS = 1_000;
const RETRY_MS = 500;
const MAX_TRIES = 20;

/** What one service says to everybody on one link, and when it said it last. */
export class LinkVoice {
  readonly link: DnsLink;
  readonly #clock: Clock;
  readonly #saidMs = new Map<string, number>();
  #cancel: (() => void) | undefined;

  constructor(link: DnsLink, clock: Clock) {
    this.link = link;
    this.#clock = clock;
  }

  /** When a record was last multicast, by the monotonic clock. */
  saidMs(record: DnsRecord): number {
    return this.#saidMs.get(recordKey(record)) ?? Number.NEGATIVE_INFINITY;
  }

  async say(answers: readonly DnsRecord[], additionals: readonly DnsRecord[] = []): Promise<boolean> {
    for (const record of answers) this.#saidMs.set(recordKey(record), this.#clock.monotonic());
    return this.link.send(encodeDnsMessage({ kind: 'response', answers, additionals }));
  }

  /** Says twice, a second apart (RFC 6762 8.3), what `records` has by then. */
  announce(records: () => readonly DnsRecord[]): void {
    this.#cancel?.();
    let said = 0;
    const round = async (tries: number): Promise<void> => {
      let isHushed = false;
      this.#cancel = () => {
        isHushed = true;
      };
      // An address of IPv6 cannot send before the kernel has made sure that nobody else has it: about two seconds.
      if (await this.say(records())) said += 1;
      if (isHushed || said >= ANNOUNCEMENTS || tries >= MAX_TRIES) return;
      this.#cancel = this.#clock.after(said > 0 ? ANNOUNCE_EVERY_MS : RETRY_MS, () => void round(tries + 1));
    };
    void round(1);
  }

  hush(): void {
    this.#cancel?.();
  }
}
