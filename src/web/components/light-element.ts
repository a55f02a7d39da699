import { LitElement } from 'lit';

/** A function that ends a subscription or a timer. */
export type Stop = () => void;

/** An element without a shadow root. The style sheet of the page applies inside it, and labels of the page can refer to its content. */
export abstract class LightElement extends LitElement {
  #stops: readonly Stop[] = [];

  override connectedCallback(): void {
    super.connectedCallback();
    this.#stops = this.connected();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const stop of this.#stops) stop();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Called when the element enters the document. Returns functions that are called when it leaves. */
  protected connected(): readonly Stop[] {
    return [];
  }
}

/** Calls `run` every `intervalMs` milliseconds. Returns a function that stops the timer. */
export function every(intervalMs: number, run: () => void): Stop {
  const timer = setInterval(run, intervalMs);
  return () => clearInterval(timer);
}
