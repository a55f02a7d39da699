import { text } from '../texts/text.ts';
import { PositionStability } from './position-stability.ts';

/**
 * Guards buttons that approve or deny a request. A press counts only if the button has been visible at the same position, for the same
 * request, for half a second in which the window had the focus. Without the guard, a moving list could put another request under the finger,
 * and another site could close its window between the two clicks of a double click. `about` is the request's id.
 */
class MisclickGuard extends HTMLElement {
  static readonly observedAttributes = ['about'];
  readonly #steadiness = new PositionStability<HTMLButtonElement>();
  #frame = 0;

  connectedCallback(): void {
    this.addEventListener('click', this.#guard, { capture: true });
    document.addEventListener('visibilitychange', this.#forget);
    this.#look();
  }

  disconnectedCallback(): void {
    this.removeEventListener('click', this.#guard, { capture: true });
    document.removeEventListener('visibilitychange', this.#forget);
    cancelAnimationFrame(this.#frame);
    this.#forget();
  }

  attributeChangedCallback(): void {
    this.#forget();
  }

  readonly #forget = (): void => this.#steadiness.reset();

  readonly #look = (): void => {
    const buttons = this.#measure();
    for (const button of buttons) {
      const isReady = this.#steadiness.isStable(button, performance.now());
      if ((button.ariaDisabled !== 'true') !== isReady) button.ariaDisabled = isReady ? 'false' : 'true';
    }
    this.#frame = requestAnimationFrame(this.#look);
  };

  /** Stops a press on a button that just moved or appeared. Measures again first, because the list may have moved since the last frame. */
  readonly #guard = (event: Event): void => {
    this.#measure();
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (button && this.#steadiness.isStable(button, performance.now())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const detail = { text: text('forms.just_moved'), tone: 'plain' };
    this.dispatchEvent(new CustomEvent('atmo-notice', { detail, bubbles: true }));
  };

  #measure(): readonly HTMLButtonElement[] {
    const buttons = [...this.querySelectorAll('button')];
    const { left, top } = this.getBoundingClientRect();
    this.#steadiness.update(
      buttons.map((button) => [button, document.hasFocus() && isVisible(button) ? positionOf(button, { left, top }) : undefined]),
      performance.now(),
    );
    return buttons;
  }
}

/** Returns whether the centre of the button is on the screen and not covered. */
function isVisible(button: HTMLButtonElement): boolean {
  const { left, top, width, height } = button.getBoundingClientRect();
  const above = document.elementFromPoint(left + width / 2, top + height / 2);
  return above !== null && button.contains(above);
}

/** Returns the button's layout position in whole pixels. A pressed button is drawn smaller, but its layout position stays the same. */
function positionOf(button: HTMLButtonElement, { left, top }: { readonly left: number; readonly top: number }): string {
  const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = button;
  return [left, top, offsetLeft, offsetTop, offsetWidth, offsetHeight].map(Math.round).join();
}

customElements.define('atmo-steady', MisclickGuard);
