import type { JsonObject } from '../../core/json.ts';

interface DocumentSource {
  /** Another list after every change of what the document tells of. */
  readonly tools: () => readonly unknown[];
  readonly make: () => JsonObject;
}

/** The text of a large document that everybody with a token may ask for: it is written once, and again when tools came or went. */
export class KeptDocument {
  readonly #source: DocumentSource;
  #kept: { readonly tools: readonly unknown[]; readonly text: string } | undefined;

  constructor(source: DocumentSource) {
    this.#source = source;
  }

  get text(): string {
    const tools = this.#source.tools();
    if (this.#kept?.tools !== tools) this.#kept = { tools, text: JSON.stringify(this.#source.make()) };
    return this.#kept.text;
  }
}
