import { html, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import type { WorkerSupport } from '../api/page-worker.ts';
import type { App } from '../app.ts';
import { text } from '../texts/text.ts';
import { icon } from './icon.ts';
import { LightElement, type Stop } from './light-element.ts';
import type { Notice } from './page-element.ts';

/** Shows what this browser can do as an app: being installed, working without the hub, and receiving notices. Says why something is missing. */
export class PushCard extends LightElement {
  static override properties = { app: { attribute: false }, busy: { state: true } };
  declare app: App;
  declare busy: boolean;

  constructor() {
    super();
    this.busy = false;
  }

  protected override connected(): readonly Stop[] {
    const { worker, push, installation } = this.app;
    return [worker, push, installation].map((part) => part.subscribe(() => this.requestUpdate()));
  }

  protected override render(): TemplateResult {
    const { support } = this.app.worker;
    return html`<section class="card stack" aria-labelledby="push-title">
      <h2 id="push-title">${text('push.title')}</h2>
      ${support === 'ready' || support === 'starting' ? html`${this.#install()}${this.#push()}` : missing(support)}
    </section>`;
  }

  #install(): TemplateResult {
    const { isInstalled, canInstall, isByShareMenu } = this.app.installation;
    if (isInstalled) return html`<p class="quiet">${icon('check')} ${text('push.installed')}</p>`;
    if (canInstall) {
      return html`<p>${text('push.install_why')}</p>
        <p><button type="button" class="button" @click=${() => void this.app.installation.install()}>${icon('plus')}${text('push.install')}</button></p>`;
    }
    return html`<p class="quiet">${isByShareMenu ? text('push.install_ios') : text('push.install_menu')}</p>`;
  }

  #push(): TemplateResult {
    const { state } = this.app.push;
    if (state === 'unknown') return html`<p class="quiet" aria-busy="true">${text('shell.wait')}</p>`;
    if (state === 'impossible') {
      const hint = this.app.installation.isByShareMenu ? text('push.impossible_ios') : text('push.impossible');
      return html`<p class="alert">${icon('warning')}${hint}</p>`;
    }
    if (state === 'denied') return html`<p class="alert">${icon('warning')}${text('push.denied')}</p>`;
    const isOn = state === 'on';
    return html`<p role="status">${isOn ? html`<span class="chip good">${text('push.on')}</span>` : text('push.why')}</p>
      <p><button type="button" class="button ${isOn ? '' : 'primary'}" ?disabled=${this.busy} aria-busy=${this.busy}
        @click=${() => void this.#toggle(isOn)}>${icon('bell')}${isOn ? text('push.turn_off') : text('push.turn_on')}</button></p>`;
  }

  async #toggle(isOn: boolean): Promise<void> {
    this.busy = true;
    try {
      await (isOn ? this.app.push.turnOff() : this.app.push.turnOn());
    } catch (error) {
      const detail: Notice = { text: messageOf(error), tone: 'bad' };
      this.dispatchEvent(new CustomEvent<Notice>('atmo-notice', { detail, bubbles: true }));
    }
    this.busy = false;
  }
}

/** Says what does not work in this browser, why, and how it is mended. */
function missing(support: Exclude<WorkerSupport, 'starting' | 'ready'>): TemplateResult {
  return html`<div class="alert">${icon('warning')}<div>
      <p><strong>${text('push.missing')}</strong></p>
      <p>${text(`push.missing_${support}`)}</p>
      <p>${text('push.mend')}</p>
    </div></div>`;
}

customElements.define('atmo-push-card', PushCard);
