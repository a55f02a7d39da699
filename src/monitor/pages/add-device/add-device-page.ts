import { html, nothing, type TemplateResult } from 'lit';
import type { Json, JsonObject } from '../../../core/json.ts';
import { icon } from '../../parts/icon.ts';
import { PageElement } from '../../parts/page-element.ts';
import { fieldsOf } from '../field-value.ts';
import { Commissioning } from './commissioning.ts';
import { CredentialSets, credentialCard } from './credential-card.ts';
import { QrCamera } from './qr-camera.ts';
import { readSetupCode } from './setup-code.ts';
import { stepsView } from './steps-view.ts';

/** Brings a device into the home: by its code, typed, pasted or seen by the camera, with every step as it happens. */
export class AddDevicePage extends PageElement {
  #commissioning: Commissioning | undefined;
  #credentials: CredentialSets | undefined;
  #camera: QrCamera | undefined;
  #cameraProblem: string | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    const onChange = () => this.requestUpdate();
    this.#commissioning = new Commissioning({ hub: this.app.hub, store: this.app.store, onChange });
    this.#credentials = new CredentialSets(this.app.hub, onChange);
    void this.#credentials.load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#camera?.stop();
    this.#camera = undefined;
    this.#commissioning?.stop();
  }

  protected override render(): TemplateResult {
    const work = this.#commissioning;
    return html`
      <header class="page-head"><h1>Add a device</h1><p>It has to be powered and in pairing mode.</p></header>
      <div class="stack">
        ${work?.state === 'idle' ? nothing : this.#progress()}
        ${work?.state === 'running' || work?.state === 'done' ? nothing : html`${this.#form()}${this.#credentials ? credentialCard(this.#credentials, this) : nothing}`}
      </div>
    `;
  }

  #form(): TemplateResult {
    const areas = [...new Set(this.app.store.state.devices.flatMap(({ area }) => (area === null ? [] : [area])))].sort();
    const sets = this.#credentials?.sets ?? [];
    return html`<form class="card stack" novalidate @submit=${(event: SubmitEvent) => this.#start(event)}>
      <label class="field"><span class="label">Setup code</span>
        <input name="code" required autocomplete="off" autocapitalize="characters" spellcheck="false" inputmode="text" placeholder="3497-011-2332 or MT:…"
          aria-describedby="code-help code-error" @input=${(event: Event) => this.#mend(event)} />
        <span class="help" id="code-help">On the device, its box or its leaflet: 11 or 21 digits beside a picture of two arrows, or the text of the QR code.</span>
        <span class="error" id="code-error" role="alert"></span></label>
      ${this.#cameraView()}
      <div class="row">
        <label class="field grow"><span class="label">Name</span><input name="name" maxlength="64" autocomplete="off" placeholder="Kitchen lamp" /></label>
        <label class="field grow"><span class="label">Room</span><input name="area" maxlength="64" list="areas" autocomplete="off" /></label>
        <datalist id="areas">${areas.map((area) => html`<option value=${area}></option>`)}</datalist>
      </div>
      <label class="field"><span class="label">Network that it joins</span>
        <select name="network">
          <option value="">It is in the network already, or connects by cable</option>
          ${sets.map(({ kind, name, network }) => html`<option value="${kind}/${name}">${kind === 'wifi' ? 'Wi-Fi' : 'Thread'} ${network} (${name})</option>`)}
        </select>
        <span class="help">A new device that is found over Bluetooth is given this network.</span></label>
      <p><button class="button primary">${icon('plus')}Add it</button></p>
    </form>`;
  }

  #cameraView(): TemplateResult {
    if (!isSecureContext) return html`<p class="quiet">To scan the code with this device's camera, open the page over HTTPS.</p>`;
    const problem = this.#cameraProblem;
    return html`
      <p class="row"><button type="button" class="button" aria-pressed=${this.#camera !== undefined} @click=${() => void this.#scan()}>${icon('camera')}${this.#camera ? 'Stop the camera' : 'Scan the QR code'}</button></p>
      ${problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`}
      ${this.#camera ? html`<video class="viewfinder" muted playsinline aria-label="Camera; hold the QR code into the picture" .srcObject=${this.#camera.stream}></video>` : nothing}
    `;
  }

  #progress(): TemplateResult {
    const work = this.#commissioning;
    if (!work) return html``;
    return html`<section class="card stack" aria-labelledby="steps-title">
      <h2 id="steps-title" tabindex="-1">${{ idle: '', running: 'Adding the device …', done: 'The device is here', failed: 'That did not work' }[work.state]}</h2>
      ${stepsView(work.steps.lines())}
      ${work.failure ? html`<div class="alert" role="alert">${icon('warning')}<div><p><strong>${work.failure.reason}</strong></p><p>${work.failure.advice}</p>${findingsView(work.failure.findings)}</div></div>` : nothing}
      ${work.failure && work.failure.findings.length > 0 ? html`<p><button type="button" class="button" @click=${() => void work.acceptFindings()}>Take it all the same</button></p>` : nothing}
      ${work.state === 'running' ? html`<p><button type="button" class="button" @click=${() => void work.cancel()}>Give up</button></p>` : nothing}
      ${work.state === 'done' ? this.#result(work) : nothing}
    </section>`;
  }

  #result({ devices, findings }: Commissioning): TemplateResult {
    return html`
      ${findings.length === 0 ? nothing : html`<div class="quiet" role="group" aria-label="What could not be proved"><p>What could not be proved:</p>${findingsView(findings)}</div>`}
      <ul class="row">${devices.map(({ id, name }) => html`<li><a class="button primary" href="#/devices/${encodeURIComponent(id)}"><bdi>${name}</bdi></a></li>`)}</ul>
      <p><button type="button" class="button" @click=${() => this.#commissioning?.reset()}>Add another</button></p>
    `;
  }

  #mend({ target }: Event): void {
    if (target instanceof HTMLInputElement) this.#complain(target, '');
  }

  #complain(field: HTMLInputElement, mistake: string): void {
    field.setAttribute('aria-invalid', String(mistake !== ''));
    const place = this.querySelector('#code-error');
    if (place) place.textContent = mistake;
  }

  #start(event: SubmitEvent): void {
    const { code: text = '', name, area, network } = fieldsOf(event);
    const field = this.querySelector<HTMLInputElement>('input[name=code]');
    const code = readSetupCode(text);
    if ('mistake' in code) {
      if (field) this.#complain(field, code.mistake);
      field?.focus();
      return;
    }
    this.#camera?.stop();
    this.#camera = undefined;
    const [kind = '', ...set] = (network ?? '').split('/');
    const credentials: JsonObject = kind === '' ? {} : { [kind]: set.join('/') };
    const request: Record<string, Json> = { code: code.code, ...(name && { name }), ...(area && { area }), ...credentials };
    void this.#commissioning?.begin(request);
  }

  async #scan(): Promise<void> {
    if (this.#camera) {
      this.#camera.stop();
      this.#camera = undefined;
      return this.requestUpdate();
    }
    this.#cameraProblem = undefined;
    try {
      this.#camera = await QrCamera.open(this.app.hub);
      this.requestUpdate();
      await this.updateComplete;
      const video = this.querySelector('video');
      if (video) this.#camera.watch(video, (text) => this.#seen(text));
    } catch (error) {
      this.#cameraProblem = `The camera cannot be used: ${error instanceof Error ? error.message : String(error)}`;
      this.requestUpdate();
    }
  }

  /** A picture of something else than a setup code is not taken over. */
  #seen(text: string): boolean {
    const code = readSetupCode(text);
    const field = this.querySelector<HTMLInputElement>('input[name=code]');
    if ('mistake' in code || !field) return false;
    field.value = code.code;
    this.#complain(field, '');
    this.#camera?.stop();
    this.#camera = undefined;
    this.requestUpdate();
    this.say('The code was read.');
    field.focus();
    return true;
  }

  /** What the card of credentials tells. */
  heard(text: string, tone: 'good' | 'bad'): void {
    this.say(text, tone);
  }
}

customElements.define('atmo-page-add-device', AddDevicePage);

function findingsView(findings: readonly string[]): TemplateResult | typeof nothing {
  return findings.length === 0 ? nothing : html`<ul>${findings.map((finding) => html`<li>${finding}</li>`)}</ul>`;
}
