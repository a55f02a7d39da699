import { html, nothing, type TemplateResult } from 'lit';
import type { CredentialSet } from '../../core/devices/device-administration.ts';
import type { JsonObject } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import { formValues } from '../components/form-values.ts';

/** Loads and changes the network credentials for new devices. The hub never returns passwords and keys. */
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

  /** Loads the list. If the call fails, for example because the caller may not administer networks, the list is empty. */
  async load(): Promise<void> {
    const sets = await this.#hub.invoke('hub:list_credentials').catch(() => []);
    this.#sets = Array.isArray(sets) ? (sets as unknown as readonly CredentialSet[]) : [];
    this.#onChange();
  }

  /** Calls a tool that changes the credentials, then loads the list again. */
  async change(tool: string, params: JsonObject): Promise<void> {
    await this.#hub.invoke(tool, params);
    await this.load();
  }
}

/** Returns a card with the stored networks and forms to add networks. `page` shows the outcome of each change. */
export function credentialCard(
  credentials: CredentialSets,
  page: { showOutcome(work: Promise<void>, success: string): void },
): TemplateResult {
  const change = (tool: string, params: JsonObject, success: string) => page.showOutcome(credentials.change(tool, params), success);
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
          <button type="button" class="button small danger plain" aria-label="Remove ${name}" @click=${() => change('hub:remove_credentials', { name }, 'Removed.')}>Remove</button></li>`,
      )}
    </ul>
    <div class="columns">
      <form class="stack" aria-label="Wi-Fi" @submit=${(event: SubmitEvent) => {
        const { name = '', ssid = '', password = '' } = formValues(event);
        change('hub:set_wifi_credentials', { name, ssid, password }, 'The Wi-Fi network is stored.');
      }}>
        <h3>Wi-Fi</h3>
        ${nameField()}
        <label class="field"><span class="label">Network</span><input name="ssid" required maxlength="32" autocomplete="off" /></label>
        <label class="field"><span class="label">Password</span><input name="password" type="password" maxlength="64" autocomplete="off" /></label>
        <p><button class="button">Store</button></p>
      </form>
      <form class="stack" aria-label="Thread" @submit=${(event: SubmitEvent) => {
        const { name = '', dataset = '' } = formValues(event);
        change('hub:set_thread_credentials', { name, dataset }, 'The Thread network is stored.');
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
