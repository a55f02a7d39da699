import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import { makeSigningKey } from '../api/signing-key.ts';
import type { App } from '../app.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { LightElement, type Stop } from '../components/light-element.ts';

interface Approver {
  readonly person: string;
  readonly key: string;
  readonly label?: string;
}

/** Card that shows whether this browser can sign decisions. If it cannot, a person can make a key here and ask an approver to enrol it. */
export class BrowserKeyCard extends LightElement {
  static override properties = { app: { attribute: false }, approvers: { state: true }, ownKey: { state: true }, problem: { state: true } };
  declare app: App;
  /** The approvers; undefined if the hub has not returned them. */
  declare approvers: readonly Approver[] | undefined;
  declare ownKey: string | undefined;
  declare problem: string | undefined;

  protected override connected(): readonly Stop[] {
    const { calls, session } = this.app;
    const load = () => void this.#load();
    load();
    // A key is enrolled only when the approved call has ended, so the list is loaded again after each call.
    return [session.subscribe(load), calls.subscribe(load), calls.onEnd(load)];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { approvers, ownKey } = this;
    if (!approvers) return nothing;
    const own = approvers.find(({ key }) => key === ownKey);
    if (own) return html`<p class="quiet row">${icon('key')}<span>This browser signs as <strong>${own.person}</strong>.</span></p>`;
    return html`<section class="card" aria-label="Approve in this browser">
      <h2>Approve in this browser</h2>
      ${ownKey === undefined ? this.#offer() : this.#waiting()}
      ${this.problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${this.problem}</p>`}
    </section>`;
  }

  #offer(): TemplateResult {
    return html`<p class="quiet">The browser makes a key that never leaves it. Somebody who may approve already has to agree once.</p>
      <form class="key-form" @submit=${(event: SubmitEvent) => void this.#enrol(event)}>
        <label class="field"><span class="label">Your name</span>
          <input name="person" required pattern="[a-z0-9][a-z0-9_.\\-]{0,31}" autocomplete="username" autocapitalize="none" placeholder="ann" />
          <span class="help">Lower case letters and digits</span></label>
        <label class="field"><span class="label">This device</span><input name="label" maxlength="64" placeholder="Ann’s phone" /></label>
        <button type="submit" class="button primary">${icon('key')}Let this browser approve</button>
      </form>`;
  }

  #waiting(): TemplateResult {
    const call = this.app.calls.all.find(({ tool }) => tool.includes('enroll_approver'));
    const command = call ? html`<pre><code>atmo approve ${call.approvalId}</code></pre>` : nothing;
    return html`<p>Its key <code>${this.ownKey}</code> is not enrolled${call ? ' yet. Let somebody run this, or approve it in a browser that can:' : '.'}</p>${command}
      ${call ? nothing : html`<button type="button" class="button" @click=${() => void this.#enrolKey()}>Ask for it again</button>`}`;
  }

  async #enrol(event: SubmitEvent): Promise<void> {
    const { person = '', label } = formValues(event);
    await this.app.session.keepKey(person, await makeSigningKey());
    await this.#load();
    await this.#enrolKey(label || undefined);
  }

  /** Calls the tool that enrols this browser's key. The call waits for approval, and is repeated when it is approved. */
  async #enrolKey(label = 'a browser'): Promise<void> {
    const person = this.app.session.login?.person;
    if (person === undefined || this.ownKey === undefined) return;
    this.problem = undefined;
    try {
      await this.app.call({
        tool: 'hub:enroll_approver',
        params: { person, key: this.ownKey, label },
        label: `Let ${person} approve in this browser`,
      });
    } catch (error) {
      this.problem = messageOf(error);
    }
    await this.#load();
  }

  async #load(): Promise<void> {
    const key = this.app.session.login?.key;
    const signing = key !== undefined && (await this.app.hub.part(() => import('../api/approval-signature.ts')));
    this.ownKey = signing ? await signing.publicKeyOf(key) : undefined;
    // Without the permission to read the approvers, this request fails and the card is hidden.
    const answer = await this.app.hub.get<{ approvers: readonly Approver[] }>('/api/v1/approvers').catch(() => undefined);
    this.approvers = answer?.approvers;
  }
}

customElements.define('atmo-browser-key', BrowserKeyCard);
