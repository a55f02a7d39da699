import { oauthError } from '../../core/auth/oauth.ts';
import type { Clock } from '../../core/clock.ts';
import { type AtmoError, toAtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';
import { HourlyRate } from './hourly-rate.ts';

/** Number of documents that are kept. Each has at most 5 KB. */
const MAX_DOCUMENTS = 64;
const KEPT_MS = 300_000;
/** A document that cannot be read is not asked for again at once. */
const KEPT_FAILURE_MS = 30_000;

/** Port: fetches a client's metadata document from a public address over https, without redirects, at most 5 KB within 5 s. */
export type FetchDocument = (url: string) => Promise<string>;

interface DocumentParts<Client> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly fetchDocument: FetchDocument;
  /** Returns the client with this document. Throws `invalid_client` if the document is not one for this hub. */
  readonly parse: (url: string, document: JsonObject) => Client;
}

interface KeptClient<Client> {
  readonly found: Client | AtmoError;
  readonly untilMs: number;
}

/**
 * Reads clients from their metadata documents. It keeps the last ones for some minutes and failures for half a minute, fetches a document once
 * for all who wait for it, and limits how often a source makes the hub fetch.
 */
export class ClientDocuments<Client extends object> {
  readonly #parts: DocumentParts<Client>;
  readonly #kept = new Map<string, KeptClient<Client>>();
  readonly #pending = new Map<string, Promise<Client>>();
  readonly #rate: HourlyRate;

  constructor(parts: DocumentParts<Client>) {
    this.#parts = parts;
    this.#rate = new HourlyRate(parts.clock, 'The hub has looked up too many applications within an hour; try again later');
  }

  /** Resolves with the client of this address. Rejects with `invalid_client` if its document is missing or wrong, or `temporarily_unavailable`. */
  async read(url: string, source: string): Promise<Client> {
    const kept = this.#kept.get(url);
    if (kept && kept.untilMs > this.#parts.clock.monotonic()) {
      if (kept.found instanceof Error) throw kept.found;
      return kept.found;
    }
    return this.#pending.get(url) ?? this.#begin(url, source);
  }

  #begin(url: string, source: string): Promise<Client> {
    this.#rate.take(source);
    const fetching = this.#fetch(url).finally(() => this.#pending.delete(url));
    this.#pending.set(url, fetching);
    return fetching;
  }

  async #fetch(url: string): Promise<Client> {
    try {
      const text = await this.#parts.fetchDocument(url).catch((thrown: unknown) => unreadable(url, thrown));
      const client = this.#parts.parse(url, objectOf(tryParseJson(text)));
      this.#keep(url, client, KEPT_MS);
      return client;
    } catch (thrown) {
      this.#keep(url, toAtmoError(thrown), KEPT_FAILURE_MS);
      throw thrown;
    }
  }

  #keep(url: string, found: Client | AtmoError, keptMs: number): void {
    this.#kept.delete(url);
    this.#kept.set(url, { found, untilMs: this.#parts.clock.monotonic() + keptMs });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_DOCUMENTS && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function unreadable(url: string, thrown: unknown): never {
  throw oauthError('invalid_client', `The metadata document ${url} of the client cannot be read: ${toAtmoError(thrown).message}`);
}
