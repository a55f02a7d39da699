import { LitElement } from 'lit';

/** Ends a subscription or a timer. */
export type Stop = () => void;

/** An element without a shadow root, so that the page's style sheet and labels apply to its content. */
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

  /** Is called when the element enters the document; returns the functions to call when it leaves. */
  protected connected(): readonly Stop[] {
    return [];
  }
}

/** Calls `run` every `intervalMs`; returns a function that stops the timer. */
export function every(intervalMs: number, run: () => void): Stop {
  const timer = setInterval(run, intervalMs);
  return () => clearInterval(timer);
}
