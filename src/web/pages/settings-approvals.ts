import { html, nothing, type TemplateResult } from 'lit';
import { type ApprovalWaits, LONGEST_WAIT_MS, WAIT_KINDS } from '../../core/auth/approvals.ts';
import type { JsonObject } from '../../core/json.ts';
import { formValues } from '../components/form-values.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';

const SET_WAITS = 'hub:set_approval_waits';

const LONGEST_MINUTES = LONGEST_WAIT_MS / 60_000;

/** Section of the settings with the times for which requests for approval wait. Not there for who does not administrate the hub. */
export class SettingsApprovals extends PageElement {
  /** The waits in minutes. */
  readonly #waits = new RemoteData<ApprovalWaits>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    const { calls } = this.app;
    this.#load();
    return [...super.connected(), calls.onEnd(({ call }) => call.tool === SET_WAITS && this.#load())];
  }

  protected override render(): TemplateResult | typeof nothing {
    const waits = this.#waits.value;
    if (!waits) return nothing;
    return html`<section class="card stack" aria-labelledby="settings-approvals">
      <h2 id="settings-approvals">${text('settings.waits')}</h2>
      <p>${text('settings.waits_about')}</p>
      <form class="row" @submit=${(event: SubmitEvent) => void this.#save(event)}>
        ${WAIT_KINDS.map(
          (kind) => html`<label class="field"><span class="label">${text(`settings.wait_${kind}`)}</span>
            <input type="number" name=${kind} min="1" max=${LONGEST_MINUTES} required .value=${String(waits[kind])} /></label>`,
        )}
        <button class="button primary">${text('settings.save')}</button>
      </form>
    </section>`;
  }

  async #save(event: SubmitEvent): Promise<void> {
    const values = formValues(event);
    const params: JsonObject = Object.fromEntries(WAIT_KINDS.map((kind) => [kind, Number(values[kind])]));
    const answer = await this.callTool({ tool: SET_WAITS, params, label: text('settings.waits') });
    if (answer === undefined) return;
    await this.#waits.load(async () => answer as unknown as ApprovalWaits);
    this.notify(text('settings.saved'));
  }

  #load(): void {
    void this.#waits.load(async () => (await this.app.hub.invoke('hub:show_approval_waits')) as unknown as ApprovalWaits);
  }
}

customElements.define('atmo-settings-approvals', SettingsApprovals);
