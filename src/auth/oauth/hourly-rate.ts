import { oauthError } from '../../core/auth/oauth.ts';
import type { Clock } from '../../core/clock.ts';

const HOUR_MS = 3_600_000;
/** Largest number within an hour, for one source and for all of them. */
const MAX_OF_SOURCE = 20;
const MAX_OF_ALL = 100;

/** Limits how often something happens within an hour, for one source and for all of them. */
export class HourlyRate {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #refusal: string;
  /** Times of the last hour, in milliseconds of the monotonic clock, with their sources. The oldest comes first. */
  #recent: readonly { readonly source: string; readonly atMs: number }[] = [];

  /** `refusal` is the message for a source that has to wait. */
  constructor(clock: Pick<Clock, 'monotonic'>, refusal: string) {
    this.#clock = clock;
    this.#refusal = refusal;
  }

  /** Counts once. Throws `temporarily_unavailable` with `retry_after_ms` if that would be too often. */
  take(source: string): void {
    const nowMs = this.#clock.monotonic();
    this.#recent = this.#recent.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
    const own = this.#recent.filter((one) => one.source === source);
    const [oldest] = own.length >= MAX_OF_SOURCE ? own : this.#recent.length >= MAX_OF_ALL ? this.#recent : [];
    if (oldest) throw oauthError('temporarily_unavailable', this.#refusal, { retry_after_ms: HOUR_MS - (nowMs - oldest.atMs) });
    this.#recent = [...this.#recent, { source, atMs: nowMs }];
  }
}
