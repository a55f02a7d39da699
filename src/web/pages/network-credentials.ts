import { html, nothing, type TemplateResult } from 'lit';
import type { CredentialSet } from '../../core/devices/device-administration.ts';
import type { JsonObject } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import { formValues } from '../components/form-values.ts';
import { text } from '../texts/text.ts';

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
    <summary><h2>${text('networks.for_new')}</h2></summary>
    <div class="stack">
    ${credentials.sets.length === 0 ? html`<p class="quiet">${text('networks.none_stored')}</p>` : nothing}
    <ul class="tokens">
      ${credentials.sets.map(
        ({
          name,
          kind,
          network,
        }) => html`<li class="row"><span class="grow"><strong><bdi>${name}</bdi></strong> <span class="quiet">${kind === 'wifi' ? 'Wi-Fi' : 'Thread'} <bdi>${network}</bdi></span></span>
          <button type="button" class="button small danger plain" aria-label=${text('forms.remove_thing', { label: name })} @click=${() => change('hub:remove_credentials', { name }, text('networks.removed'))}>${text('devices.remove')}</button></li>`,
      )}
    </ul>
    <div class="columns">
      <form class="stack" aria-label="Wi-Fi" @submit=${(event: SubmitEvent) => {
        const { name = '', ssid = '', password = '' } = formValues(event);
        change('hub:set_wifi_credentials', { name, ssid, password }, text('networks.wifi_stored'));
      }}>
        <h3>Wi-Fi</h3>
        ${nameField()}
        <label class="field"><span class="label">${text('networks.network')}</span><input name="ssid" required maxlength="32" autocomplete="off" /></label>
        <label class="field"><span class="label">${text('networks.password')}</span><input name="password" type="password" maxlength="64" autocomplete="off" /></label>
        <p><button class="button">${text('networks.store')}</button></p>
      </form>
      <form class="stack" aria-label="Thread" @submit=${(event: SubmitEvent) => {
        const { name = '', dataset = '' } = formValues(event);
        change('hub:set_thread_credentials', { name, dataset }, text('networks.thread_stored'));
      }}>
        <h3>Thread</h3>
        ${nameField()}
        <label class="field"><span class="label">${text('networks.dataset')}</span><textarea name="dataset" rows="3" required spellcheck="false" placeholder="0e08…"></textarea>
          <span class="help">${text('networks.dataset_help')}</span></label>
        <p><button class="button">${text('networks.store')}</button></p>
      </form>
    </div></div>
  </details>`;
}

function nameField(): TemplateResult {
  return html`<label class="field"><span class="label">${text('networks.set_name')}</span><input name="name" required maxlength="64" autocomplete="off" placeholder=${text('networks.set_example')} /></label>`;
}
