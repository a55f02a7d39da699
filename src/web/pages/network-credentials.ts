import { html, nothing, type TemplateResult } from 'lit';
import type { CredentialSet } from '../../core/devices/device-administration.ts';
import { type HubClient, messageOf } from '../api/hub-client.ts';
import { formValues } from '../components/form-values.ts';

/** The networks that new devices can be given; their secrets go to the hub and never come back. */
export class CredentialSets {
  readonly #hub: Pick<HubClient, 'invoke'>;
  readonly #onChange: () => void;
  #sets: readonly CredentialSet[] = [];

  constructor(hub: Pick<HubClient, 'invoke'>, onChange: () => void) {
    this.#hub = hub;
    this.#onChange = onChange;
  }

  get sets(): readonly CredentialSet[] {
    return this.#sets;
  }

  /** Whoever may not administer networks has none to choose from. */
  async load(): Promise<void> {
    const sets = await this.#hub.invoke('hub:list_credentials').catch(() => []);
    this.#sets = Array.isArray(sets) ? (sets as unknown as readonly CredentialSet[]) : [];
    this.#onChange();
  }

  async keepWifi(params: { readonly name: string; readonly ssid: string; readonly password: string }): Promise<void> {
    await this.#hub.invoke('hub:set_wifi_credentials', params);
    await this.load();
  }

  async keepThread(params: { readonly name: string; readonly dataset: string }): Promise<void> {
    await this.#hub.invoke('hub:set_thread_credentials', params);
    await this.load();
  }

  async remove(name: string): Promise<void> {
    await this.#hub.invoke('hub:remove_credentials', { name });
    await this.load();
  }
}

interface NoticeListener {
  showNotice(text: string, tone: 'good' | 'bad'): void;
}

/** The stored networks, and forms for more. */
export function credentialCard(credentials: CredentialSets, owner: NoticeListener): TemplateResult {
  const act = (work: Promise<void>, done: string) =>
    work.then(
      () => owner.showNotice(done, 'good'),
      (error: unknown) => owner.showNotice(messageOf(error), 'bad'),
    );
  return html`<details class="card">
    <summary><h2>Networks for new devices</h2></summary>
    <div class="stack">
    ${credentials.sets.length === 0 ? html`<p class="quiet">None is stored. Devices that join by Wi-Fi or Thread need one.</p>` : nothing}
    <ul class="tokens">
      ${credentials.sets.map(
        ({
          name,
          kind,
          network,
        }) => html`<li class="row"><span class="grow"><strong><bdi>${name}</bdi></strong> <span class="quiet">${kind === 'wifi' ? 'Wi-Fi' : 'Thread'} <bdi>${network}</bdi></span></span>
          <button type="button" class="button small danger plain" aria-label="Remove ${name}" @click=${() => act(credentials.remove(name), 'Removed.')}>Remove</button></li>`,
      )}
    </ul>
    <div class="columns">
      <form class="stack" aria-label="Wi-Fi" @submit=${(event: SubmitEvent) => {
        const { name = '', ssid = '', password = '' } = formValues(event);
        void act(credentials.keepWifi({ name, ssid, password }), 'The Wi-Fi network is stored.');
      }}>
        <h3>Wi-Fi</h3>
        ${nameField()}
        <label class="field"><span class="label">Network</span><input name="ssid" required maxlength="32" autocomplete="off" /></label>
        <label class="field"><span class="label">Password</span><input name="password" type="password" maxlength="64" autocomplete="off" /></label>
        <p><button class="button">Store</button></p>
      </form>
      <form class="stack" aria-label="Thread" @submit=${(event: SubmitEvent) => {
        const { name = '', dataset = '' } = formValues(event);
        void act(credentials.keepThread({ name, dataset }), 'The Thread network is stored.');
      }}>
        <h3>Thread</h3>
        ${nameField()}
        <label class="field"><span class="label">Operational dataset</span><textarea name="dataset" rows="3" required spellcheck="false" placeholder="0e08…"></textarea>
          <span class="help">Hex, as a border router shows it.</span></label>
        <p><button class="button">Store</button></p>
      </form>
    </div></div>
  </details>`;
}

function nameField(): TemplateResult {
  return html`<label class="field"><span class="label">Name of the set</span><input name="name" required maxlength="64" autocomplete="off" placeholder="home" /></label>`;
}
