import { html, nothing, type TemplateResult } from 'lit';
import type { Json, JsonObject } from '../../core/json.ts';
import { areaNames } from '../api/home-store.ts';
import { type HubClient, messageOf } from '../api/hub-client.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { text } from '../texts/text.ts';
import { Commissioning, readSetupCode, type StepLine } from './commissioning.ts';
import { CredentialSets, credentialCard } from './network-credentials.ts';

/** Page that adds a device by its setup code. A person types, pastes or scans the code. The page then shows each step. */
export class AddDevicePage extends PageElement {
  #commissioning: Commissioning | undefined;
  #credentials: CredentialSets | undefined;
  #camera: QrCamera | undefined;
  #cameraProblem: string | undefined;

  protected override connected(): readonly Stop[] {
    const onChange = () => this.requestUpdate();
    this.#commissioning = new Commissioning({ hub: this.app.hub, store: this.app.store, onChange });
    this.#credentials = new CredentialSets(this.app.hub, onChange);
    void this.#credentials.load();
    return [...super.connected(), () => this.#stopCamera(), () => this.#commissioning?.stop()];
  }

  #stopCamera(): void {
    this.#camera?.stop();
    this.#camera = undefined;
  }

  protected override render(): TemplateResult {
    const state = this.#commissioning?.progress.state;
    return html`
      <header class="page-head"><h1>${text('add_device.title')}</h1><p>${text('add_device.about')}</p></header>
      <div class="stack">
        ${state === 'idle' ? nothing : this.#progress()}
        ${state === 'running' || state === 'done' ? nothing : html`${this.#form()}${this.#credentials ? credentialCard(this.#credentials, this) : nothing}`}
      </div>
    `;
  }

  #form(): TemplateResult {
    const areas = areaNames(this.app.store.state);
    const sets = this.#credentials?.sets ?? [];
    return html`<form class="card stack" novalidate @submit=${(event: SubmitEvent) => this.#start(event)}>
      <label class="field"><span class="label">${text('add_device.code')}</span>
        <input name="code" required autocomplete="off" autocapitalize="characters" spellcheck="false" inputmode="text" placeholder=${text('add_device.code_example')}
          aria-describedby="code-help code-error" @input=${(event: Event) => this.#clearMistake(event)} />
        <span class="help" id="code-help">${text('add_device.code_help')}</span>
        <span class="error" id="code-error" role="alert"></span></label>
      ${this.#cameraView()}
      <div class="row">
        <label class="field grow"><span class="label">${text('devices.name')}</span><input name="name" maxlength="64" autocomplete="off" placeholder=${text('add_device.name_example')} /></label>
        <label class="field grow"><span class="label">${text('devices.room')}</span><input name="area" maxlength="64" list="areas" autocomplete="off" /></label>
        <datalist id="areas">${areas.map((area) => html`<option value=${area}></option>`)}</datalist>
      </div>
      <label class="field"><span class="label">${text('add_device.network')}</span>
        <select name="network">
          <option value="">${text('add_device.network_none')}</option>
          ${sets.map(({ kind, name, network }) => html`<option value="${kind}/${name}">${kind === 'wifi' ? 'Wi-Fi' : 'Thread'} ${network} (${name})</option>`)}
        </select>
        <span class="help">${text('add_device.network_help')}</span></label>
      <p><button class="button primary">${icon('plus')}${text('add_device.add')}</button></p>
    </form>`;
  }

  #cameraView(): TemplateResult {
    if (!isSecureContext) return html`<p class="quiet">${text('add_device.camera_https')}</p>`;
    const problem = this.#cameraProblem;
    return html`
      <p class="row"><button type="button" class="button" aria-pressed=${this.#camera !== undefined} @click=${() => void this.#scan()}>${icon('camera')}${this.#camera ? text('add_device.camera_stop') : text('add_device.camera_scan')}</button></p>
      ${problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`}
      ${this.#camera ? html`<video class="viewfinder" muted playsinline aria-label=${text('add_device.camera')} .srcObject=${this.#camera.stream}></video>` : nothing}
    `;
  }

  #progress(): TemplateResult {
    const work = this.#commissioning;
    if (!work) return html``;
    const { state, steps, failure, findings } = work.progress;
    return html`<section class="card stack" aria-labelledby="steps-title">
      <h2 id="steps-title" tabindex="-1">${text(`add_device.state_${state}`)}</h2>
      ${stepsView(steps.lines())}
      ${failure ? html`<div class="alert" role="alert">${icon('warning')}<div><p><strong>${failure.reason}</strong></p><p>${failure.advice}</p>${findingsView(findings)}</div></div>` : nothing}
      ${failure && findings.length > 0 ? html`<p><button type="button" class="button" @click=${() => void work.acceptFindings()}>${text('add_device.accept')}</button></p>` : nothing}
      ${state === 'running' ? html`<p><button type="button" class="button" @click=${() => void work.cancel()}>${text('add_device.give_up')}</button></p>` : nothing}
      ${state === 'done' ? this.#result(work.progress) : nothing}
    </section>`;
  }

  #result({ devices, findings }: Commissioning['progress']): TemplateResult {
    return html`
      ${findings.length === 0 ? nothing : html`<div class="quiet" role="group" aria-label=${text('add_device.unproved')}><p>${text('add_device.unproved')}:</p>${findingsView(findings)}</div>`}
      <ul class="row">${devices.map(({ id, name }) => html`<li><a class="button primary" href="#/devices/${encodeURIComponent(id)}"><bdi>${name}</bdi></a></li>`)}</ul>
      <p><button type="button" class="button" @click=${() => this.#commissioning?.reset()}>${text('add_device.another')}</button></p>
    `;
  }

  #clearMistake({ target }: Event): void {
    if (target instanceof HTMLInputElement) this.#showMistake(target, '');
  }

  #showMistake(field: HTMLInputElement, mistake: string): void {
    field.setAttribute('aria-invalid', String(mistake !== ''));
    const place = this.querySelector('#code-error');
    if (place) place.textContent = mistake;
  }

  #start(event: SubmitEvent): void {
    const { code: typed = '', name, area, network } = formValues(event);
    const field = this.querySelector<HTMLInputElement>('input[name=code]');
    const code = readSetupCode(typed);
    if ('mistake' in code) {
      if (field) this.#showMistake(field, code.mistake);
      field?.focus();
      return;
    }
    this.#stopCamera();
    const [kind = '', ...set] = (network ?? '').split('/');
    const credentials: JsonObject = kind === '' ? {} : { [kind]: set.join('/') };
    const request: Record<string, Json> = { code: code.code, ...(name && { name }), ...(area && { area }), ...credentials };
    void this.#commissioning?.begin(request);
  }

  async #scan(): Promise<void> {
    if (this.#camera) {
      this.#stopCamera();
      return this.requestUpdate();
    }
    this.#cameraProblem = undefined;
    try {
      this.#camera = await QrCamera.open(this.app.hub);
      this.requestUpdate();
      await this.updateComplete;
      const video = this.querySelector('video');
      if (video) this.#camera.watch(video, (seen) => this.#takeCode(seen));
    } catch (error) {
      this.#cameraProblem = text('add_device.camera_fails', { reason: messageOf(error) });
      this.requestUpdate();
    }
  }

  /** Puts a setup code into the form and stops the camera. Returns false if the text is not a setup code. */
  #takeCode(seen: string): boolean {
    const code = readSetupCode(seen);
    const field = this.querySelector<HTMLInputElement>('input[name=code]');
    if ('mistake' in code || !field) return false;
    field.value = code.code;
    this.#showMistake(field, '');
    this.#stopCamera();
    this.requestUpdate();
    this.notify(text('add_device.code_read'));
    field.focus();
    return true;
  }

  /** Waits for a change of network credentials, then shows whether it succeeded. */
  showOutcome(work: Promise<void>, success: string): void {
    void this.attempt(work, success);
  }
}

customElements.define('atmo-page-add-device', AddDevicePage);

function findingsView(findings: readonly string[]): TemplateResult | typeof nothing {
  return findings.length === 0 ? nothing : html`<ul>${findings.map((finding) => html`<li>${finding}</li>`)}</ul>`;
}

function stepsView(lines: readonly StepLine[]): TemplateResult {
  const current = lines.find(({ state }) => state === 'current');
  return html`
    <ol class="steps">
      ${lines.map(
        ({ step, title, state, note }) => html`<li class=${state} data-step=${step} aria-current=${state === 'current' ? 'step' : nothing}>
          <span class="mark" aria-hidden="true"></span><span>${title}<span class="hidden">: ${text(`add_device.is_${state}`)}</span>${
            state === 'current' && note !== '' ? html`<br /><span class="quiet small">${note}</span>` : nothing
          }</span></li>`,
      )}
    </ol>
    <p class="hidden" role="status">${current === undefined ? nothing : current.title}</p>
  `;
}

const LOOK_EVERY_MS = 200;
/** The camera's picture is scaled to this width in pixels, so that decoding is fast. A code that fills half of it can still be read. */
const WIDTH = 640;

/** Searches the camera's picture for QR codes. This needs a secure origin and the person's permission. */
class QrCamera {
  readonly stream: MediaStream;
  readonly #hub: Pick<HubClient, 'part'>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  private constructor(stream: MediaStream, hub: Pick<HubClient, 'part'>) {
    this.stream = stream;
    this.#hub = hub;
  }

  /** Opens the camera. Rejects if there is none, or if the person denies access. */
  static async open(hub: Pick<HubClient, 'part'>): Promise<QrCamera> {
    const video = { facingMode: 'environment', width: { ideal: 1280 } };
    return new QrCamera(await navigator.mediaDevices.getUserMedia({ video, audio: false }), hub);
  }

  /** Shows the camera's picture in `video` and searches it for codes. Calls `onText` with each code until `onText` returns true. */
  watch(video: HTMLVideoElement, onText: (text: string) => boolean): void {
    void video.play();
    const canvas = document.createElement('canvas');
    const look = async () => {
      const { default: decodeQr } = await this.#hub.part(() => import('qr/decode.js'));
      const picture = pictureOf(video, canvas);
      const seen = picture && textIn(picture, decodeQr);
      const isTaken = seen !== undefined && !this.#isStopped && onText(seen);
      if (!isTaken && !this.#isStopped) this.#timer = setTimeout(() => void look(), LOOK_EVERY_MS);
    };
    void look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const track of this.stream.getTracks()) track.stop();
  }
}

/** Returns the current picture of the camera; undefined until the camera delivers one. */
function pictureOf(video: HTMLVideoElement, canvas: HTMLCanvasElement): ImageData | undefined {
  if (video.videoWidth === 0) return undefined;
  const height = Math.round((video.videoHeight / video.videoWidth) * WIDTH);
  canvas.width = WIDTH;
  canvas.height = height;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context?.drawImage(video, 0, 0, WIDTH, height);
  return context?.getImageData(0, 0, WIDTH, height);
}

/** Returns the text of the QR code in a picture; undefined if it contains no code. */
function textIn(picture: ImageData, decodeQr: (picture: ImageData) => string): string | undefined {
  try {
    return decodeQr(picture);
  } catch {
    // The decoder throws an error for every picture without a code.
    return undefined;
  }
}
