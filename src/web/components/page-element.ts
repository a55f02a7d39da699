import { LitElement } from 'lit';
import type { Json } from '../../core/json.ts';
import { messageOf } from '../api/hub-client.ts';
import type { App, CallRequest } from '../app.ts';
import type { RouteParams } from '../router.ts';

/** What the shell shows for a moment. */
export interface Notice {
  readonly text: string;
  readonly tone: 'good' | 'bad' | 'plain';
}

/**
 * A page of the monitor. It renders into the document itself, so that the one style sheet and labels reach everything, is
 * given `app` and the `params` of its route, and is shown anew when the home changes.
 */
export abstract class PageElement extends LitElement {
  static override properties = { app: { attribute: false }, params: { attribute: false } };
  declare app: App;
  declare params: RouteParams;
  #unsubscribe: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unsubscribe = this.app.store.subscribe(() => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Calls a tool and shows why it failed; undefined is no wish any more. A call that waits for approval is asked about by the shell. */
  protected async callTool(wish: CallRequest | Promise<CallRequest | undefined>): Promise<Json | undefined> {
    try {
      const whole = await wish;
      return whole && (await this.app.call(whole));
    } catch (error) {
      this.notifyError(error);
      return undefined;
    }
  }

  /** Shows a notice and tells it to screen readers. */
  protected notify(text: string, tone: Notice['tone'] = 'good'): void {
    this.dispatchEvent(new CustomEvent<Notice>('atmo-notice', { detail: { text, tone }, bubbles: true }));
  }

  /** Shows why something failed. */
  protected notifyError(thrown: unknown): void {
    this.notify(messageOf(thrown), 'bad');
  }
}
