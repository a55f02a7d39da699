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

  /**
   * Gives the focus back to an element that lost it because it was disabled for a while. If the element is gone, focuses another one, so that
   * whoever uses keys does not begin at the top of the page again.
   */
  protected async restoreFocus(focused: Element | null, instead = ''): Promise<void> {
    await new Promise(requestAnimationFrame);
    if (document.activeElement !== document.body) return;
    if (focused instanceof HTMLElement && focused.isConnected && focused !== document.body) focused.focus();
    else if (instead !== '') this.querySelector<HTMLElement>(instead)?.focus();
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
